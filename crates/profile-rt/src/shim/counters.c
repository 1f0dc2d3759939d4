/* What the kernel and the processor count of a thread. Nothing here changes errno: it runs within functions of the program. */
#define _GNU_SOURCE
#include "shim.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As Rust's `Open`. */
static __thread struct {
    uint32_t owner, tried, is_read;
    const void *pages[4];
} open_counters;

/* Which process of a line of forks has pages, counted. The kernel does not copy pages to a child of fork, and sets this to zero there,
 * however it was forked. */
static uint32_t *owner;
/* The last that was given. A child's next is another than all before it. */
static uint32_t owners;

/* False: it cannot be had, and no counter may be opened. */
static int mark_pages(void) {
    uint32_t *known = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);
    if (known)
        /* Zero: a child, of which a fork between here and the last question has made this thread. */
        return __atomic_load_n(known, __ATOMIC_RELAXED) != 0;
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *word = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED)
        return 0;
    if (madvise(word, bytes, MADV_WIPEONFORK)) {
        munmap(word, bytes);
        return 0;
    }
    *word = __atomic_add_fetch(&owners, 1, __ATOMIC_RELAXED);
    uint32_t *none = NULL;
    if (!__atomic_compare_exchange_n(&owner, &none, word, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        munmap(word, bytes);
    return 1;
}

void *tw_shim_counters(void) {
    uint32_t *word = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);
    if (word) {
        uint32_t none = 0;
        if (!__atomic_load_n(word, __ATOMIC_RELAXED))
            __atomic_compare_exchange_n(word, &none, __atomic_add_fetch(&owners, 1, __ATOMIC_RELAXED), 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        /* What a child's thread finds is its parent's, and none of it is mapped. Threads that the child makes have nothing yet, and
         * one that is about to open its first has no owner. */
        if (open_counters.owner && open_counters.owner != __atomic_load_n(word, __ATOMIC_RELAXED))
            memset(&open_counters, 0, sizeof open_counters);
    }
    return &open_counters;
}

int tw_shim_usage(uint64_t counts[4]) {
    int before = errno;
    struct rusage usage = {0};
    int failed = getrusage(RUSAGE_THREAD, &usage);
    errno = before;
    counts[0] = (uint64_t)usage.ru_minflt;
    counts[1] = (uint64_t)usage.ru_majflt;
    counts[2] = (uint64_t)usage.ru_nvcsw;
    counts[3] = (uint64_t)usage.ru_nivcsw;
    return failed;
}

uint64_t tw_shim_cpu_ns(void) {
    int before = errno;
    struct timespec time = {0};
    int failed = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    errno = before;
    return failed ? UINT64_MAX : (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void *tw_shim_open_counter(uint32_t kind, uint64_t event) {
    int before = errno;
    struct perf_event_attr asked = {
        .type = kind,
        .size = sizeof asked,
        .config = event,
        /* One that gives way to others at times would count too little, and not say so. */
        .pinned = 1,
        /* As the kernel lets every user have it by default. */
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    void *page = MAP_FAILED;
    int file = -1;
    if (mark_pages()) {
        open_counters.owner = __atomic_load_n(owner, __ATOMIC_RELAXED);
        file = (int)syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    if (file >= 0) {
        page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, file, 0);
        /* The mapping keeps it open. A descriptor would be the program's to close, and its number another file's then. By no call of
         * the C library, at which a thread may be cancelled. */
        syscall(SYS_close, file);
    }
    errno = before;
    return page == MAP_FAILED ? NULL : page;
}

void tw_shim_close_counter(void *page) {
    int before = errno;
    munmap(page, (size_t)sysconf(_SC_PAGESIZE));
    errno = before;
}

#ifdef __clang__
#pragma clang attribute pop
#endif
