/* Six stages of a request, of some 20 to 120 microseconds each; with -DSLOWER stage_3 does five per cent
 * more. Usage: stages SECONDS. For diff.sh. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef SLOWER
#define THIRD(turns) ((turns) + (turns) / 20)
#else
#define THIRD(turns) (turns)
#endif

static volatile uint64_t answer;

/* Part of each stage, so that no function is in two of them. */
static inline __attribute__((always_inline)) void mix(uint64_t turns) {
    uint64_t value = answer;
    for (uint64_t turn = 0; turn < turns; turn++)
        value = (value ^ turn) * 6364136223846793005u + 1;
    answer = value;
}

#define STAGE(number, turns) \
    static __attribute__((noinline)) void stage_##number(void) { mix(turns); }
STAGE(1, 20000)
STAGE(2, 40000)
STAGE(3, THIRD(60000))
STAGE(4, 80000)
STAGE(5, 100000)
STAGE(6, 120000)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    double end = now() + (argc > 1 ? atof(argv[1]) : 1);
    uint64_t requests = 0;
    for (; now() < end; requests++) {
        stage_1(), stage_2(), stage_3(), stage_4(), stage_5(), stage_6();
    }
    printf("%lu requests, %lx\n", (unsigned long)requests, (unsigned long)answer);
}
