; A clocked function has its time taken around its frame, on quick paths too. Others say where frames above are gone.
; RUN: TAILWATER_PROFILE_CLOCK=$'+clocked\n+lib::*' opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

declare i32 @other(i32)
declare i32 @may_throw(i32)
declare i32 @setjmp(ptr) returns_twice
declare i32 @__gxx_personality_v0(...)

; CHECK-LABEL: define i32 @clocked(
; CHECK: %[[WHAT:[0-9]+]] = call i64 @tw_profile_clocked_enter(i64 %[[POSITION:[0-9]+]], i64 %{{[0-9]+}})
; CHECK: store atomic i64 %[[WHAT]], ptr %{{[0-9]+}} release
; CHECK: call void @tw_profile_clocked_leave(i64 %[[POSITION]])
; CHECK: store atomic i64 %[[POSITION]], ptr %tw.context{{[0-9]+}} release{{.*}}
; CHECK-NEXT: ret i32 %y
define i32 @clocked(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}

; CHECK-LABEL: define i32 @_ZN3lib5chainEi(
; CHECK: call i64 @tw_profile_clocked_enter(
; CHECK: call void @tw_profile_clocked_leave(
; CHECK: store atomic i64
; CHECK-NEXT: %y = tail call i32 @other(i32 %x)
define i32 @_ZN3lib5chainEi(i32 %x) {
  %y = tail call i32 @other(i32 %x)
  ret i32 %y
}

; CHECK-LABEL: define i32 @jumps_back(
; CHECK-NOT: @tw_profile_clocked_enter
; CHECK: %r = call i32 @setjmp(ptr %buffer)
; CHECK: call void @tw_profile_clocked_link(i64 %[[NEXT:[0-9]+]])
; CHECK: store atomic i64 %[[NEXT]], ptr
; CHECK-NOT: @tw_profile_clocked_leave
; CHECK: ret i32
define i32 @jumps_back(ptr %buffer, i32 %x) {
  %r = call i32 @setjmp(ptr %buffer)
  %y = call i32 @other(i32 %r)
  %z = add i32 %y, 1
  ret i32 %z
}

; CHECK-LABEL: define i32 @catches(
; CHECK: landingpad
; CHECK: call void @tw_profile_clocked_link(
; CHECK: store atomic i64
; CHECK: ret i32 0
define i32 @catches(i32 %x) personality ptr @__gxx_personality_v0 {
  %y = invoke i32 @may_throw(i32 %x) to label %done unwind label %caught
done:
  ret i32 %y
caught:
  %p = landingpad { ptr, i32 } catch ptr null
  ret i32 0
}
