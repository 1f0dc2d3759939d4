/* Requests of which a known share is a kernel that could be offloaded: tests/tests/profile_measure.rs finds that share in a
 * trace. Prints the thread's time in the kernel and in all, in nanoseconds, by its own clock. */
#define _GNU_SOURCE
#include <tailwater/profile.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Has a core for so long, however long it waits for one. */
static NOINLINE void work(uint64_t us) {
    for (uint64_t end = thread_ns() + us * 1000u; thread_ns() < end;)
        for (int i = 0; i < 200; i++)
            sink = sink + 1;
}

static NOINLINE void kernel_block(uint64_t us) {
    work(us);
    sink = sink + 1;
}

/* Three quarters of a request. */
static NOINLINE void kernel_compress(uint64_t bytes) {
    tw_size(bytes);
    kernel_block(1500);
    kernel_block(1500);
    sink = sink + 1;
}

static NOINLINE void parse(void) {
    work(1000);
    sink = sink + 1;
}

/* Neither runs nor is anybody's kernel. */
static NOINLINE void wait_for_nobody(void) {
    struct timespec time = { 0, 2000000 };
    nanosleep(&time, NULL);
    sink = sink + 1;
}

int main(int count, char **words) {
    unsigned long requests = count > 1 ? strtoul(words[1], NULL, 10) : 10;
    uint64_t in_kernel = 0, began = thread_ns();
    for (unsigned long request = 0; request < requests; request++) {
        parse();
        uint64_t before = thread_ns();
        kernel_compress(request % 2 ? 4096 : 512);
        in_kernel += thread_ns() - before;
        wait_for_nobody();
    }
    printf("%llu %llu\n", (unsigned long long)in_kernel, (unsigned long long)(thread_ns() - began));
    return 0;
}
