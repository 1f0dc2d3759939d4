; Where tail callers are to stay, their frames do during the call. A call that must be a tail call leaves no choice.
; RUN: TAILWATER_PROFILE_KEEP_TAIL_CALLERS=1 opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

declare i32 @other(i32)

; CHECK-LABEL: define i32 @tail_calls(
; CHECK: %y = tail call i32 @other(i32 %x)
; CHECK: store atomic i64 %{{.*}}, ptr %tw.context{{[0-9]+}} release{{.*}}
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
