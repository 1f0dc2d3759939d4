; A function's frame is there where it may take time. Paths that neither call nor loop leave without one.
; RUN: opt -passes=tailwater-profile

target triple = "x86_64-unknown-linux-gnu"

declare void @work()
declare void @fail() noreturn
declare i32 @__gxx_personality_v0(...)

; Nothing in it takes time.
; CHECK-LABEL: define i32 @straight(
; CHECK-NOT: tw_profile
; CHECK: ret i32
define i32 @straight(ptr %p, i32 %x) {
  %y = mul i32 %x, %x
  store i32 %y, ptr %p
  %small = icmp ult i32 %y, 10
  br i1 %small, label %one, label %two
one:
  ret i32 %x
two:
  ret i32 %y
}

; The frame begins in the branch that calls, and is left on the edge to the return that both share.
; CHECK-LABEL: define void @early(
; CHECK-NEXT: br i1 %x, label %slow, label %out
; CHECK: slow:
; CHECK: %tw.context = load ptr
; CHECK: call void @work()
; CHECK: store atomic i64 %{{[0-9]+}}, ptr
; CHECK-NEXT: br label %out
; CHECK: out:
; CHECK-NEXT: ret void
define void @early(i1 %x) {
  br i1 %x, label %slow, label %out
slow:
  call void @work()
  br label %out
out:
  ret void
}

; An edge out of a block that may also go on is split, and what merges behind it stays right.
; CHECK-LABEL: define i32 @split(
; CHECK: call void @work()
; CHECK: br i1 %x, label %[[EDGE:.*]], label %more
; CHECK: [[EDGE]]:
; CHECK: store atomic i64 %{{[0-9]+}}, ptr
; CHECK-NEXT: br label %out
; CHECK: more:
; CHECK: call void @work()
; CHECK: store atomic i64 %{{[0-9]+}}, ptr
; CHECK-NEXT: ret i32 3
; CHECK: out:
; CHECK-NEXT: phi i32 [ 1, %entry ], [ 2, %[[EDGE]] ]
; CHECK-NEXT: ret i32
define i32 @split(i1 %x, i1 %y) {
entry:
  br i1 %y, label %out, label %slow
slow:
  call void @work()
  br i1 %x, label %out, label %more
more:
  call void @work()
  ret i32 3
out:
  %r = phi i32 [ 1, %entry ], [ 2, %slow ]
  ret i32 %r
}

; A frame is pushed before a loop, not in each of its turns.
; CHECK-LABEL: define void @loop(
; CHECK: br i1 %none, label %out, label %before
; CHECK: before:
; CHECK: %tw.context = load ptr
; CHECK: turn:
; CHECK-NOT: tw.context
; CHECK: last:
define void @loop(ptr %p, i64 %n) {
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %out, label %before
before:
  br label %turn
turn:
  %i = phi i64 [ 0, %before ], [ %next, %turn ]
  %next = add i64 %i, 1
  store i64 %i, ptr %p
  %done = icmp eq i64 %next, %n
  br i1 %done, label %last, label %turn
last:
  ret void
out:
  ret void
}

; A path that ends the program is taken once: the others pay nothing for it, and it is outside of their frame.
; CHECK-LABEL: define i32 @checked(
; CHECK-NEXT: icmp
; CHECK-NEXT: br i1 %bad, label %ends, label %fine
; CHECK: ends:
; CHECK-NEXT: call void @fail()
; CHECK: fine:
; CHECK: %tw.context = load ptr
; CHECK: call void @work()
; CHECK: ret i32
define i32 @checked(i32 %x) {
  %bad = icmp eq i32 %x, 0
  br i1 %bad, label %ends, label %fine
ends:
  call void @fail()
  unreachable
fine:
  call void @work()
  ret i32 %x
}

; What is called before the end is not.
; CHECK-LABEL: define i32 @serves(
; CHECK-NEXT: tw_profile_context
; CHECK: serve:
; CHECK-NEXT: call void @work()
; CHECK-NEXT: call void @fail()
define i32 @serves(i1 %x) {
  br i1 %x, label %usage, label %serve
usage:
  call void @work()
  ret i32 2
serve:
  call void @work()
  call void @fail()
  unreachable
}

; What jumps back to a place takes its frame there again.
; CHECK-LABEL: define i32 @jumps_back(
; CHECK: call i32 @llvm.eh.sjlj.setjmp
; CHECK: %[[AGAIN:.*]] = add i64 %{{[0-9]+}}, 16
; CHECK: store atomic i64 %[[AGAIN]]
; CHECK: br i1
define i32 @jumps_back(ptr %place, i1 %x) {
  %back = call i32 @llvm.eh.sjlj.setjmp(ptr %place)
  %came = icmp ne i32 %back, 0
  br i1 %came, label %out, label %go
go:
  br i1 %x, label %out, label %slow
slow:
  call void @work()
  ret i32 2
out:
  ret i32 1
}
declare i32 @llvm.eh.sjlj.setjmp(ptr)

; Two edges to one place, and an invoke whose way on leads out.
; CHECK-LABEL: define void @switches(
; CHECK: br i1 %y, label %out, label %slow
; CHECK: switch i32 %x, label %[[ONE:.*]] [
; CHECK-NEXT: i32 1, label %[[TWO:.*]]
; CHECK-NEXT: i32 2, label %more
; CHECK: store atomic i64 %{{[0-9]+}}, ptr
; CHECK-NEXT: br label %out
; CHECK: store atomic i64 %{{[0-9]+}}, ptr
; CHECK-NEXT: br label %out
; CHECK: more:
; CHECK-NEXT: call void @work()
; CHECK-NEXT: invoke void @work()
; CHECK-NEXT: to label %[[THREE:.*]] unwind
; CHECK: [[THREE]]:
; CHECK: store atomic i64 %{{[0-9]+}}, ptr
; CHECK-NEXT: br label %out
define void @switches(i32 %x, i1 %y) personality ptr @__gxx_personality_v0 {
  br i1 %y, label %out, label %slow
slow:
  invoke void @work() to label %on unwind label %caught
on:
  switch i32 %x, label %out [ i32 1, label %out
                              i32 2, label %more ]
more:
  call void @work()
  invoke void @work() to label %out unwind label %caught
caught:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
out:
  ret void
}

; But what does nothing else is seen.
; CHECK-LABEL: define void @runs_for_ever(
; CHECK: tw.context
; CHECK: call void @fail()
define void @runs_for_ever() {
  call void @fail()
  unreachable
}

; What waits for another core, or copies much, takes time.
; CHECK-LABEL: define void @counts(
; CHECK: tw.context
; CHECK: atomicrmw
define void @counts(ptr %p) {
  %old = atomicrmw add ptr %p, i64 1 seq_cst
  ret void
}
; CHECK-LABEL: define void @copies_little(
; CHECK-NOT: tw_profile
; CHECK: ret void
define void @copies_little(ptr %p, ptr %q) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 64, i1 false)
  ret void
}
; CHECK-LABEL: define void @copies_any(
; CHECK: tw.context
; CHECK: call void @llvm.memcpy
define void @copies_any(ptr %p, ptr %q, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Where an exception is caught, the frame is there.
; CHECK-LABEL: define void @catches(
; CHECK: br i1 %x, label %out, label %tries
; CHECK: tries:
; CHECK: tw.context
; CHECK: invoke void @work()
; CHECK: caught:
; CHECK-NEXT: landingpad
; CHECK: %[[AGAIN:.*]] = add i64 %{{[0-9]+}}, 16
; CHECK: store atomic i64 %[[AGAIN]], ptr %tw.context{{[0-9]+}} release
; CHECK: call void @work()
; CHECK: %tw.context{{[0-9]+}} = load ptr
; CHECK: store atomic i64 %{{[0-9]+}}, ptr %tw.context{{[0-9]+}} release
; CHECK-NEXT: resume
define void @catches(i1 %x) personality ptr @__gxx_personality_v0 {
  br i1 %x, label %out, label %tries
tries:
  invoke void @work() to label %out unwind label %caught
caught:
  %pad = landingpad { ptr, i32 } cleanup
  call void @work()
  resume { ptr, i32 } %pad
out:
  ret void
}

; Where an edge cannot be split, all of the function has its frame.
; CHECK-LABEL: define void @jumps(
; CHECK-NEXT: {{.*}}tw_profile_context
; CHECK: indirectbr
define void @jumps(i1 %x, ptr %to) {
  br i1 %x, label %out, label %slow
slow:
  call void @work()
  indirectbr ptr %to, [label %out, label %more]
more:
  ret void
out:
  ret void
}
