/* What the C and the Rust part of the runtime share: C holds what Rust cannot say yet (a thread-local
 * symbol of a chosen model, wrappers that know their return address). */
#ifndef TAILWATER_SHIM_H
#define TAILWATER_SHIM_H

#include "tailwater/profile.h"
#include "tailwater/profile_abi.h"

#ifdef __cplusplus
#error "for C only"
#endif

/* Where this too is compiled by a compiler with the pass, it leaves the runtime alone; each source pops at
 * its end. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((annotate("tailwater_skip"))), apply_to = function)
#endif

/* Implemented in Rust. */
uint64_t tw_rt_slow(void);
/* Where to push; a null context is nobody's. */
struct tw_rt_place {
    struct tw_context *context;
    uint64_t position;
};
struct tw_rt_place tw_rt_slow_on_stack(const struct tw_context *left, uint64_t stack);
void tw_rt_back(const struct tw_context *left, const struct tw_context *context);
void tw_rt_load(void);
void tw_rt_exit(void);
void tw_rt_cut_short(void);
void tw_rt_forks(void);
void tw_rt_has_forked(void);
void tw_rt_forked(void);
void tw_rt_thread_end(void);
void tw_rt_waited(uint32_t kind, uint64_t object, uint64_t start, uint64_t end, uint64_t site,
                  uint32_t holder, uint64_t held_in, uint32_t has_lock);
void tw_rt_released(uint64_t object, uint64_t at);
uint32_t tw_rt_is_recording(void);
void tw_rt_library_gone(uint64_t from, uint64_t to);

/* By name, so that all copies of the runtime in a process call the same one. */
void tw_shim_load(void);

/* Checks the code of the image that this copy of the runtime is linked into. */
__attribute__((visibility("hidden"))) void tw_shim_check_own(void);

/* This thread's context, also in code that is not built to find out about fibers. */
struct tw_context *tw_shim_settled(void);

/* What is there: in its low 32 bits, waits shorter than so many ticks leave no event; zero: nothing is recorded. Above is
 * the term of the recorder that said so. In shared memory, since the recorder may be another process. */
extern const uint64_t *tw_shim_recording;
/* The same of locks that nothing waits for: zero, or how long one must be held to leave an event. */
extern const uint64_t *tw_shim_holds;
/* Waits of this thread whose lock it still holds, and holds that it got at once. */
extern __thread uint32_t tw_shim_pending;

/* Kinds of waits, as tailwater_profile::record::WaitKind numbers them. */
enum { TW_WAIT_MUTEX = 0, TW_WAIT_READ = 1, TW_WAIT_WRITE = 2, TW_WAIT_CONDITION = 3, TW_WAIT_JOIN = 4 };

static inline uint64_t tw_shim_ticks(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
#error "tailwater's profiler knows x86-64 and AArch64"
#endif
}

#endif
