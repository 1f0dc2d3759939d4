; Code for machines that have no runtime is left alone.
; RUN: TAILWATER_PROFILE_WHOLE=1 opt -passes=tailwater-profile

target triple = "nvptx64-nvidia-cuda"

; CHECK-NOT: tw_
define void @f() {
  ret void
}
