/* Two threads handle requests. One in a hundred takes a path that the compiler inlines, and a call that is seen. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <tailwater/profile.h>

static volatile uint64_t sink;

static void planted_slow_path(uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; round++)
        sink += round; /* the slow line */
}

__attribute__((noinline)) void callee(uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; round++)
        sink ^= round; /* the callee's line */
}

__attribute__((noinline)) void handle(unsigned nth)
{
    tw_req_start(nth);
    for (uint64_t round = 0; round < 2000; round++)
        sink -= round; /* the usual line */
    if (nth % 100 == 0) {
        planted_slow_path(3000000); /* the planted path */
        callee(1000000);
    }
    tw_req_end(nth);
}

static unsigned calls;

static void *work(void *first)
{
    for (unsigned nth = 0; nth < calls; nth++)
        handle((unsigned)(uintptr_t)first + nth);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    calls = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    if (pthread_create(&other, NULL, work, (void *)(uintptr_t)(1 << 20)) != 0)
        return 1;
    work(NULL);
    pthread_join(other, NULL);
    return 0;
}
