/* The application of LDB's section 6.1 (NSDI 2024): twenty frames, built anew every so many
 * microseconds. Usage: refresh MICROSECONDS MILLISECONDS. Prints how often it built them, and the
 * median time of a round in ns: being off the core changes the count, but hardly the median. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tailwater/profile.h>
#include <time.h>

enum { DEPTH = 20, ROUNDS_MAX = 4000000 };

static uint32_t ticks_of_round[ROUNDS_MAX];

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The locals keep the frames of the machine's stack as far apart as real ones are. */
__attribute__((noinline)) static void frames(unsigned below, uint64_t spins) {
    char locals[96];
    __asm__ volatile("" : : "r"(locals) : "memory");
    if (below == 0)
        for (uint64_t i = 0; i < spins; i++)
            __asm__ volatile("" : "+r"(i));
    else
        frames(below - 1, spins);
    __asm__ volatile("" : : "r"(locals) : "memory");
}

/* Turns of the loop in `us`: a fixed amount of work, unlike waiting for a clock, shows all that
 * scanning costs. The fastest of several tries, since any may be interrupted. */
TW_PROFILE_SKIP static uint64_t calibrate(uint64_t us) {
    uint64_t best = UINT64_MAX, turns = 200000;
    for (int try = 0; try < 25; try++) {
        uint64_t start = now_ns();
        for (uint64_t i = 0; i < turns; i++)
            __asm__ volatile("" : "+r"(i));
        uint64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    return us * 1000 * turns / (best ? best : 1);
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return fprintf(stderr, "refresh MICROSECONDS MILLISECONDS\n"), 2;
    uint64_t spins = calibrate(strtoul(argv[1], NULL, 10)), rounds = 0;
    uint64_t start = now_ns(), ticks = tw_profile_now(), end = start + strtoul(argv[2], NULL, 10) * 1000000;
    for (; rounds < ROUNDS_MAX && now_ns() < end; rounds++) {
        uint64_t before = tw_profile_now();
        frames(DEPTH - 1, spins);
        ticks_of_round[rounds] = (uint32_t)(tw_profile_now() - before);
    }
    double ns_per_tick = (double)(now_ns() - start) / (double)(tw_profile_now() - ticks);
    qsort(ticks_of_round, rounds, sizeof *ticks_of_round, ascending);
    printf("%lu %.1f\n", rounds, ns_per_tick * ticks_of_round[rounds / 2]);
    return 0;
}
