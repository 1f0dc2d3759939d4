; Every way out of a function, and every way back in.
; RUN: TAILWATER_PROFILE_WHOLE=1 opt -passes=tailwater-profile
; RUN: opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

declare i32 @other(i32)
declare i32 @setjmp(ptr) returns_twice
declare i32 @__gxx_personality_v0(...)

; CHECK-LABEL: define i32 @returns(
; CHECK: %[[FOUND:.*]] = load atomic i64, ptr %[[CTX:.*]] unordered
; CHECK: icmp uge i64 %[[FOUND]]
; CHECK: call preserve_mostcc i64 @tw_profile_slow()
; CHECK: %[[POS:.*]] = phi i64 [ %[[FOUND]], {{.*}} ], [ {{.*}} ]
; CHECK: %[[RETURN:.*]] = call ptr @llvm.returnaddress(i32 0)
; CHECK: %[[BITS:.*]] = ptrtoint ptr %[[RETURN]] to i64
; CHECK: %[[SITE:.*]] = shl i64 %[[BITS]], 48
; CHECK: %[[WHAT:.*]] = or i64 %[[SITE]], ptrtoint (ptr @{{.*}}tw.desc{{.*}} to i64)
; CHECK: store atomic i64 %[[WHAT]], ptr {{.*}} release
; CHECK: call i32 @other(i32 %x)
; CHECK: store atomic i64 %[[POS]], ptr {{.*}} release
; CHECK-NEXT: ret i32
define i32 @returns(i32 %x) {
  %y = call i32 @other(i32 %x)
  %z = add i32 %y, 1
  ret i32 %z
}

; CHECK-LABEL: define i32 @tail_calls(
; CHECK: store atomic i64 %{{.*}}, ptr %tw.context{{[0-9]+}} release{{.*}}
; CHECK-NEXT: %y = tail call i32 @other(i32 %x)
; CHECK-NEXT: ret i32 %y
define i32 @tail_calls(i32 %x) {
  %y = tail call i32 @other(i32 %x)
  ret i32 %y
}

; CHECK-LABEL: define i32 @must_tail_call(
; CHECK: store atomic i64 %{{.*}}, ptr %tw.context{{[0-9]+}} release{{.*}}
; CHECK-NEXT: %y = musttail call i32 @other(i32 %x)
; CHECK-NEXT: ret i32 %y
define i32 @must_tail_call(i32 %x) {
  %y = musttail call i32 @other(i32 %x)
  ret i32 %y
}

; Where tail calls are off, the caller stays visible.
; CHECK-LABEL: define i32 @no_tail_calls(
; CHECK: %y = tail call i32 @other(i32 %x)
; CHECK: store atomic i64 %{{.*}}, ptr %tw.context{{[0-9]+}} release{{.*}}
; CHECK-NEXT: ret i32 %y
define i32 @no_tail_calls(i32 %x) "disable-tail-calls"="true" {
  %y = tail call i32 @other(i32 %x)
  ret i32 %y
}

; CHECK-LABEL: define i32 @returns_twice(
; CHECK: %y = call i32 @setjmp(ptr %p)
; CHECK: add i64 %{{.*}}, 16
; CHECK: store atomic i64 %{{.*}}, ptr {{.*}} release
; CHECK: call i32 @other(i32 %y)
define i32 @returns_twice(ptr %p) {
  %y = call i32 @setjmp(ptr %p) returns_twice
  %z = call i32 @other(i32 %y)
  ret i32 %y
}

; A landing pad that resumes at once: linked, then left.
; CHECK-LABEL: define i32 @lands(
; CHECK: landingpad
; CHECK: %[[NEXT:.*]] = add i64 %[[POS:.*]], 16
; CHECK: store atomic i64 %[[NEXT]], ptr {{.*}} release
; CHECK: store atomic i64 %[[POS]], ptr {{.*}} release
; CHECK-NEXT: resume
define i32 @lands(i32 %x) personality ptr @__gxx_personality_v0 {
  %y = invoke i32 @other(i32 %x) to label %fine unwind label %pad
fine:
  ret i32 %y
pad:
  %caught = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %caught
}

; Allocas of fixed size stay in the entry block, before the call to the slow path.
; CHECK-LABEL: define i32 @allocates(
; CHECK: %b = alloca i32
; CHECK: icmp uge
define i32 @allocates(i32 %x) {
  %a = alloca i32
  store i32 %x, ptr %a
  %b = alloca i32
  store i32 %x, ptr %b
  %y = load i32, ptr %b
  %z = call i32 @other(i32 %y)
  ret i32 %y
}
