; An image says for which runtime its code is: once for all modules of a version, though the pass runs twice.
; RUN: TAILWATER_PROFILE_WHOLE=1 opt -passes=tailwater-profile,tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

; CHECK: $[[NAME:tw\.abi\.[0-9]+]] = comdat any
; CHECK: @[[NAME]] = linkonce_odr hidden constant i32 {{[0-9]+}}, section "tw_abi", comdat, align 4
; CHECK-NOT: section "tw_abi"
; CHECK: @llvm.used = appending global [1 x ptr] [ptr @[[NAME]]], section "llvm.metadata"

define void @framed() {
  ret void
}
