; A module for an executable reads its context without going through a table.
; RUN: TAILWATER_PROFILE_WHOLE=1 opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

; CHECK: @tw_profile_context = external dso_local thread_local(localexec) global ptr
define void @f() {
  ret void
}

!llvm.module.flags = !{!0, !1}
!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{i32 7, !"PIE Level", i32 2}
