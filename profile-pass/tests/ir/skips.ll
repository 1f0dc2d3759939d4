; What is left out: neither descriptor nor code.
; RUN: TAILWATER_PROFILE_WHOLE=1 opt -passes=tailwater-profile,tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

@skip = private constant [15 x i8] c"tailwater_skip\00", section "llvm.metadata"
@file = private constant [4 x i8] c"a.c\00", section "llvm.metadata"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @annotated, ptr @skip, ptr @file, i32 1, ptr null }], section "llvm.metadata"

@chosen = ifunc void (), ptr @resolver

; Not an executable's module, as far as it says: PIC without PIE.
; CHECK: @tw_profile_context = external thread_local(initialexec) global ptr
; One descriptor, with its function's comdat and tied to it; once, though the pass runs twice.
$grouped = comdat any
; CHECK: @tw.desc = private global { ptr, ptr, ptr, i32, i32 } { ptr @grouped, {{.*}} }, section "tw_desc", comdat($grouped), align 8, !associated
; CHECK-NOT: @tw.desc.

; CHECK-LABEL: define void @annotated()
; CHECK-NEXT: ret void
define void @annotated() {
  ret void
}

; CHECK-LABEL: define void @naked()
; CHECK-NEXT: call void asm
define void @naked() naked {
  call void asm sideeffect "ret", ""()
  unreachable
}

; CHECK-LABEL: define available_externally void @elsewhere()
; CHECK-NEXT: ret void
define available_externally void @elsewhere() {
  ret void
}

; CHECK-LABEL: define ptr @resolver()
; CHECK-NEXT: call void @used_by_resolver()
define ptr @resolver() {
  call void @used_by_resolver()
  ret ptr @annotated
}

; CHECK-LABEL: define internal void @used_by_resolver()
; CHECK-NEXT: ret void
define internal void @used_by_resolver() {
  ret void
}

; CHECK-LABEL: define void @tw_profile_own()
; CHECK-NEXT: ret void
define void @tw_profile_own() {
  ret void
}

; CHECK-LABEL: define void @goes_on_in_a_fiber(ptr %fiber)
; CHECK-NEXT: call void @tw_fiber_switch(ptr %fiber)
; CHECK-NEXT: tail call void @resolved_elsewhere()
define void @goes_on_in_a_fiber(ptr %fiber) {
  call void @tw_fiber_switch(ptr %fiber)
  tail call void @resolved_elsewhere()
  ret void
}

; CHECK-LABEL: define linkonce_odr void @grouped() #{{.*}} comdat
; CHECK: load atomic
; CHECK: call preserve_mostcc i64 @tw_profile_slow()
; CHECK-NOT: call preserve_mostcc i64 @tw_profile_slow()
; CHECK: ret void
define linkonce_odr void @grouped() comdat {
  ret void
}

declare void @tw_fiber_switch(ptr)
declare void @resolved_elsewhere()

!llvm.module.flags = !{!0}
!0 = !{i32 8, !"PIC Level", i32 2}
