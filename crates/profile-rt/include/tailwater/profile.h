/* Requests and control of the profiler, for C and C++ (tailwater/profile.hpp has guards for C++).
 *
 * Link a program built by `tailwater profile build` or tailwater-cc: the runtime comes with it. Without
 * TAILWATER_PROFILE_OUT in the environment nothing is recorded until tw_profile_start, and a mark costs
 * a function call. With TAILWATER_PROFILE_DISABLE defined the marks vanish altogether.
 *
 * None of these may be called from a signal handler. */
#ifndef TAILWATER_PROFILE_H
#define TAILWATER_PROFILE_H

#include <stdint.h>

/* Before a function's declaration: it is compiled without a frame of its own. */
#ifdef __clang__
#define TW_PROFILE_SKIP __attribute__((annotate("tailwater_skip")))
#else
#define TW_PROFILE_SKIP
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TAILWATER_PROFILE_DISABLE

/* This thread begins, or goes on, to work for a request. A thread may work for several requests (as
 * many as 32 are remembered for tw_req_end_all), and several threads for one. */
void tw_req_start(uint64_t request);

/* The same for a request that entered a queue at `enqueued` (tw_profile_now() then): the time in
 * between counts as queueing. */
void tw_req_start_queued(uint64_t request, uint64_t enqueued);

/* The same, and which queue that was: its address, by which `tailwater profile requests` names it where it is a
 * variable of the program. */
void tw_req_start_dequeued(uint64_t request, uint64_t enqueued, const void *queue);

/* The same for one that has waited for so many nanoseconds by now. */
void tw_req_start_waited(uint64_t request, uint64_t waited_ns);

/* This thread stops working for the request for now (it goes to a queue, or waits for another
 * server's answer); this or another thread goes on by tw_req_start. */
void tw_req_block(uint64_t request);

/* This thread's part of the request is done. */
void tw_req_end(uint64_t request);

/* This thread's part of every request it works for is done. */
void tw_req_end_all(void);

/* The request as a whole is done, whichever threads worked for it. */
void tw_req_finish(uint64_t request);

/* Requests across processes: `tailwater profile requests A.trace B.trace` joins them by the name of each call, a
 * number that both ends know and that no other call has (as the span id of a trace context). The caller says
 * tw_req_sent before it hands the call to the kernel, and tw_req_answered once it has read the answer; the
 * server tw_req_called behind its tw_req_start, and tw_req_finish before it hands the answer to the kernel: the
 * clocks of two machines are compared by these four. */
void tw_req_sent(uint64_t request, uint64_t call);
void tw_req_answered(uint64_t request, uint64_t call);
void tw_req_called(uint64_t request, uint64_t call);

/* Work of so many bytes begins, such as the compression of a block: `tailwater accelerate measure` makes a
 * histogram of them. Mark one kind of work in a program. */
void tw_size(uint64_t bytes);

/* Fibers: stacks that a program switches between by itself (swapcontext, boost.context). Each needs
 * frames of its own, or those of all fibers lie on one heap and are charged to one another. A program
 * built by `tailwater profile build --fibers` finds that out by itself, at some cost for each call; else:
 *
 *     struct tw_fiber *frames = tw_fiber_create();       where the fiber is made
 *     tw_fiber_switch(frames); swapcontext(&here, &it);   in one function, whichever way it goes
 *     tw_fiber_switch(NULL); swapcontext(&it, &here);     back to what the thread runs without a fiber
 *     tw_fiber_destroy(frames);                          when it will not run again, from outside of it
 *
 * A fiber may go on in another thread. Functions that call tw_fiber_switch get no frame of their own;
 * the function that a fiber begins with, and any that returns on another stack than it was called on,
 * must be marked TW_PROFILE_SKIP. A trace has each fiber as a
 * thread; while it is switched away, time goes by for its functions as in any wait. Fibers count towards
 * the 4096 threads at a time; beyond, they run unrecorded. */
struct tw_fiber;
struct tw_fiber *tw_fiber_create(void);
void tw_fiber_switch(struct tw_fiber *to);
void tw_fiber_destroy(struct tw_fiber *fiber);

/* Begins to record into a new file at `path` (or beside it, with the process's number appended, when
 * that exists). 0: done; EALREADY: it does record, or `tailwater profile attach` does; otherwise an errno. */
int tw_profile_start(const char *path);

/* Ends the recording and completes the file. 0, or an errno of writing it; nothing was recorded: 0. */
int tw_profile_stop(void);

/* The profiler's clock (the time stamp counter on x86-64). */
uint64_t tw_profile_now(void);

#else

static inline void tw_req_start(uint64_t request) { (void)request; }
static inline void tw_req_start_queued(uint64_t request, uint64_t enqueued) { (void)request; (void)enqueued; }
static inline void tw_req_start_dequeued(uint64_t request, uint64_t enqueued, const void *queue) {
    (void)request; (void)enqueued; (void)queue;
}
static inline void tw_req_start_waited(uint64_t request, uint64_t waited_ns) { (void)request; (void)waited_ns; }
static inline void tw_req_block(uint64_t request) { (void)request; }
static inline void tw_req_end(uint64_t request) { (void)request; }
static inline void tw_req_end_all(void) {}
static inline void tw_req_finish(uint64_t request) { (void)request; }
static inline void tw_req_sent(uint64_t request, uint64_t call) { (void)request; (void)call; }
static inline void tw_req_answered(uint64_t request, uint64_t call) { (void)request; (void)call; }
static inline void tw_req_called(uint64_t request, uint64_t call) { (void)request; (void)call; }
static inline void tw_size(uint64_t bytes) { (void)bytes; }
struct tw_fiber;
static inline struct tw_fiber *tw_fiber_create(void) { return (struct tw_fiber *)0; }
static inline void tw_fiber_switch(struct tw_fiber *to) { (void)to; }
static inline void tw_fiber_destroy(struct tw_fiber *fiber) { (void)fiber; }
static inline int tw_profile_start(const char *path) { (void)path; return 0; }
static inline int tw_profile_stop(void) { return 0; }
static inline uint64_t tw_profile_now(void) { return 0; }

#endif

#ifdef __cplusplus
}
#endif
#endif
