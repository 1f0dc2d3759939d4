/* Slow calls whose cause lies outside of the program: each takes longer than its own work. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Has a core for so long, however long it waits for one. */
static NOINLINE void planted_run(uint64_t ns)
{
    for (uint64_t end = thread_ns() + ns; thread_ns() < end;)
        for (int i = 0; i < 1000; i++)
            sink = sink + 1;
}

static NOINLINE void planted_sleep(uint64_t ns)
{
    struct timespec time = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    nanosleep(&time, NULL);
    sink = sink + 1;
}

/* Memory that nothing has touched. */
static NOINLINE void planted_touch(size_t pages)
{
    char *memory = malloc(pages * 4096);
    for (size_t page = 0; memory && page < pages; page++)
        memory[page * 4096] = 1;
    sink = sink + (memory ? (uint64_t)memory[4096 * (pages / 2)] : 0);
    free(memory);
}

int main(int count, char **words)
{
    if (count > 1 && !strcmp(words[1], "hog")) {
        /* It computes for ever, and its starter may be killed. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            sink = sink + 1;
    }
    uint64_t ms = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    planted_run(ms * 1000000u);
    planted_sleep(ms * 4 * 1000000u);
    planted_touch(4096);
    return 0;
}
