/* A program's own clock at the entry and the exit of one function: CLOCKED is that function's first line. What calls it has
 * CLOCKED_AROUND as the first line of a block in which nothing else is done, so that the call and the return are timed, too. For one
 * source file of a program that is built by `tailwater profile build`; `profile clocked` and `profile kept` read what it writes.
 *
 * Nothing is done without CLOCKED_LOG in the environment, which names a file. There the calls lie when the program has
 * ended by itself, as numbers of 64 bits: the counter and the clock (CLOCK_MONOTONIC_RAW, ns) at the beginning and at the
 * end, the calls that were made, those for which there was no room, those that follow, and of each a number, its start
 * and its end by the counter, and how much earlier it was called and how much later it had returned; zeros where nothing was around.
 *
 *   CLOCKED_CALLS   calls of each thread for which there is room; a million when not given
 *   CLOCKED_LEAST   shorter ones, in ticks of the counter, are counted and no more
 *   CLOCKED_MARKS   each call is a request of that number: the marks enclose what is measured */
#ifndef CLOCKED_H
#define CLOCKED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tailwater/profile.h>
#include <time.h>

struct clocked_call {
    uint64_t number, start, end, before, after;
};

/* Of one thread. */
struct clocked_log {
    struct clocked_log *next;
    uint64_t thread, made, len, left_out;
    struct clocked_call *last; /* that was kept since its call; what is around it fills it up */
    struct clocked_call calls[];
};

static struct {
    const char *file;
    uint64_t max, least, marks, ticks, ns, threads;
    struct clocked_log *logs;
} clocked;
static __thread struct clocked_log *clocked_log;

TW_PROFILE_SKIP static uint64_t clocked_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

TW_PROFILE_SKIP static uint64_t clocked_number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

TW_PROFILE_SKIP __attribute__((constructor)) static void clocked_open(void) {
    clocked.max = clocked_number("CLOCKED_CALLS", 1 << 20);
    clocked.least = clocked_number("CLOCKED_LEAST", 0);
    clocked.marks = clocked_number("CLOCKED_MARKS", 0);
    clocked.ns = clocked_ns(), clocked.ticks = tw_profile_now();
    /* A copy: Redis writes its title over the environment. */
    const char *file = getenv("CLOCKED_LOG");
    clocked.file = file ? strdup(file) : NULL;
}

/* A thread's first call. Where each call is noted, all memory is there from then on: a page fault would lengthen the call
 * for the profiler, and not for this clock. */
TW_PROFILE_SKIP __attribute__((noinline)) static void clocked_thread(void) {
    size_t bytes = sizeof(struct clocked_log) + clocked.max * sizeof(struct clocked_call);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (clocked.least ? 0 : MAP_POPULATE);
    struct clocked_log *log = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (log == MAP_FAILED)
        perror("clocked.h: no memory for the calls of a thread"), abort();
    log->thread = __atomic_fetch_add(&clocked.threads, 1, __ATOMIC_RELAXED);
    log->next = __atomic_load_n(&clocked.logs, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&clocked.logs, &log->next, log, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    clocked_log = log;
}

static inline __attribute__((always_inline)) struct clocked_call clocked_begin(void) {
    struct clocked_call call = {0, 0, 0, 0, 0};
    if (clocked.file) {
        if (!clocked_log)
            clocked_thread();
        call.number = clocked_log->thread << 40 | ++clocked_log->made;
        if (clocked.marks)
            tw_req_start(call.number);
        call.start = tw_profile_now();
    }
    return call;
}

/* The clock is read last: a store that misses the cache would lengthen the call for the profiler alone. */
static inline __attribute__((always_inline)) void clocked_end(struct clocked_call *call) {
    if (!call->number)
        return;
    struct clocked_log *log = clocked_log;
    struct clocked_call unkept, *kept = log->len < clocked.max ? &log->calls[log->len] : &unkept;
    kept->number = call->number, kept->start = call->start, kept->before = 0, kept->after = 0;
    log->last = kept == &unkept ? NULL : kept;
    kept->end = tw_profile_now();
    if (clocked.marks)
        tw_req_end(call->number);
    if (kept->end - kept->start < clocked.least)
        return;
    if (kept == &unkept)
        log->left_out++;
    else
        log->len++;
}

static inline __attribute__((always_inline)) uint64_t clocked_calls(void) {
    if (clocked_log)
        clocked_log->last = NULL;
    return clocked.file ? tw_profile_now() : 0;
}

static inline __attribute__((always_inline)) void clocked_returns(uint64_t *called) {
    uint64_t now = tw_profile_now();
    struct clocked_call *last = *called && clocked_log ? clocked_log->last : NULL;
    if (last)
        last->before = last->start - *called, last->after = now - last->end;
}

#define CLOCKED_AROUND __attribute__((cleanup(clocked_returns))) uint64_t clocked_called = clocked_calls();
#define CLOCKED __attribute__((cleanup(clocked_end))) struct clocked_call clocked_call = clocked_begin();

TW_PROFILE_SKIP __attribute__((destructor)) static void clocked_close(void) {
    if (!clocked.file)
        return;
    struct clocked_log *log, *logs = __atomic_load_n(&clocked.logs, __ATOMIC_ACQUIRE);
    uint64_t head[7] = {clocked.ticks, clocked.ns, tw_profile_now(), clocked_ns(), 0, 0, 0};
    for (log = logs; log; log = log->next)
        head[4] += log->made, head[5] += log->left_out, head[6] += log->len;
    FILE *out = fopen(clocked.file, "w");
    int whole = out && fwrite(head, sizeof head, 1, out) == 1;
    for (log = logs; whole && log; log = log->next)
        whole = fwrite(log->calls, sizeof *log->calls, log->len, out) == log->len;
    if (!whole || fclose(out))
        perror("clocked.h: the calls could not be written");
}

#endif
