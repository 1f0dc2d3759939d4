; Names match mangled, demangled, and without parameters or hash; the last rule decides.
; RUN: TAILWATER_PROFILE_WHOLE=1 TAILWATER_PROFILE_FILTER=filter.txt opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"
source_filename = "dir/plain.c"

; CHECK: c"_ZN3lib4fastEi\00"
; CHECK-NOT: c"_ZN3lib4slowEi\00"
; CHECK: c"_ZN5crate4path17h0123456789abcdefE\00"
; CHECK-NOT: c"plain\00"
define void @_ZN3lib4fastEi(i32 %x) {
  ret void
}
define void @_ZN3lib4slowEi(i32 %x) {
  ret void
}
define void @_ZN5crate4path17h0123456789abcdefE() {
  ret void
}
define void @plain() {
  ret void
}
