; Functions that find out on which machine stack they run.
; RUN: TAILWATER_PROFILE_FIBERS=1 opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

declare i32 @other(i32)
declare i32 @pure(i32) memory(none)
declare void @fails() noreturn
declare i32 @__gxx_personality_v0(...)

; CHECK-LABEL: define i32 @calls(
; CHECK-SAME: i32 %x) #[[TABLES:[0-9]+]]
; CHECK: %[[LOADED:.*]] = load ptr, ptr %{{.*}}
; CHECK: icmp uge i64
; CHECK: call ptr @llvm.addressofreturnaddress.p0()
; CHECK: getelementptr inbounds i8, ptr %[[LOADED]], i64 40
; CHECK: getelementptr inbounds i8, ptr %[[LOADED]], i64 48
; CHECK: call preserve_mostcc i64 @tw_profile_slow_on_stack(i64 %{{.*}})
; CHECK: %[[CTX:.*]] = phi ptr [ %[[LOADED]], {{.*}} ]
; CHECK: %y = call i32 @other(i32 %x)
; CHECK: %[[NOW:.*]] = load ptr, ptr %{{.*}}
; CHECK: icmp ne ptr %[[NOW]], %[[CTX]]
; CHECK: call preserve_mostcc void @tw_profile_back(ptr %[[CTX]])
; CHECK-NOT: tw_profile_back
; CHECK: call i32 @pure(i32 %y)
; CHECK-NOT: tw_profile_back
; CHECK: store atomic i64 %{{.*}}, ptr %[[CTX]] release
; CHECK-NEXT: ret i32
define i32 @calls(i32 %x) {
  %y = call i32 @other(i32 %x)
  %z = call i32 @pure(i32 %y)
  ret i32 %z
}

; What comes after a tail call is the caller's.
; CHECK-LABEL: define i32 @leaves(
; CHECK-NOT: tw_profile_back
; CHECK: %y = tail call i32 @other(i32 %x)
; CHECK-NEXT: ret i32 %y
define i32 @leaves(i32 %x) {
  %y = tail call i32 @other(i32 %x)
  ret i32 %y
}

; Both ways back from an invoke.
; CHECK-LABEL: define i32 @lands(
; CHECK: invoke i32 @other
; CHECK: call preserve_mostcc void @tw_profile_back
; CHECK: ret i32
; CHECK: landingpad
; CHECK: call preserve_mostcc void @tw_profile_back
; CHECK: resume
define i32 @lands(i32 %x) personality ptr @__gxx_personality_v0 {
  %y = invoke i32 @other(i32 %x) to label %fine unwind label %pad
fine:
  %z = call i32 @other(i32 %y)
  ret i32 %z
pad:
  %caught = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %caught
}

; CHECK: attributes #[[TABLES]] = { {{.*}}uwtable
