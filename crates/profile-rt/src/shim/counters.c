/* What the kernel and the processor count of a thread. */
#define _GNU_SOURCE
#include "shim.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As Rust's `Open`. */
static __thread struct {
    uint32_t tried;
    const void *pages[4];
} open_counters;

void *tw_shim_counters(void) { return &open_counters; }

void tw_shim_usage(uint64_t counts[4]) {
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    counts[0] = (uint64_t)usage.ru_minflt;
    counts[1] = (uint64_t)usage.ru_majflt;
    counts[2] = (uint64_t)usage.ru_nvcsw;
    counts[3] = (uint64_t)usage.ru_nivcsw;
}

uint64_t tw_shim_cpu_ns(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static const uint64_t kinds[] = {
    PERF_COUNT_HW_CPU_CYCLES,
    PERF_COUNT_HW_INSTRUCTIONS,
    PERF_COUNT_HW_CACHE_MISSES,
    PERF_COUNT_HW_BRANCH_MISSES,
};

void *tw_shim_open_counter(uint32_t kind) {
    int before = errno;
    struct perf_event_attr asked = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof asked,
        .config = kinds[kind],
        /* One that gives way to others at times would count too little, and not say so. */
        .pinned = 1,
        /* As the kernel lets every user have it by default. */
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int file = (int)syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    void *page = MAP_FAILED;
    if (file >= 0) {
        page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, file, 0);
        /* The mapping keeps it open. A descriptor would be the program's to close, and its number another file's then. */
        close(file);
    }
    errno = before;
    return page == MAP_FAILED ? NULL : page;
}

void tw_shim_close_counter(void *page) { munmap(page, (size_t)sysconf(_SC_PAGESIZE)); }

#ifdef __clang__
#pragma clang attribute pop
#endif
