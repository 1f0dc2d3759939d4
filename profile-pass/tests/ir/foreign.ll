; Code for machines that have no runtime is left alone.
; RUN: opt -passes=tailwater-profile

target triple = "nvptx64-nvidia-cuda"

; CHECK-NOT: tw_
define void @f() {
  ret void
}
