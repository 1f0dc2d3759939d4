/* Calls that know when they began and ended, to compare a trace with.
 *
 * Usage: truth WORK MILLISECONDS
 *   tree      a recursion with a branch, all calls and nothing else; of its frames, those that last
 *             some microseconds and more take their own time
 *   requests  of a microsecond and some hundred calls each, every tenth with a leaf of 10 to 40 µs more
 *
 * Prints the median time of a round in ns and how many rounds there were, and then, for each call that
 * took its time, its generation, start and end in ticks of tw_profile_now. A round is the same work
 * each time: what it takes longer under the scanner is what scanning costs. Compiled without the
 * profiler, it is the program that all this is compared with; its generations are zero. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<tailwater/profile_abi.h>)
#include <tailwater/profile.h>
#include <tailwater/profile_abi.h>
#define GENERATION (tw_profile_context->generation)
#else
/* Reads the clock by a call, as the runtime's does, so that the work is the same. */
#define TW_PROFILE_SKIP
#define GENERATION 0
__attribute__((noinline)) static uint64_t tw_profile_now(void) { return __builtin_readcyclecounter(); }
static void tw_profile_stop(void) {}
#endif

enum { ROUNDS_MAX = 1000000, FACTS_MAX = 400000 };
#define APART __attribute__((noinline))

struct fact {
    uint64_t generation, start, end;
};
static struct fact facts[FACTS_MAX];
static unsigned facts_len;
static uint32_t ticks_of_round[ROUNDS_MAX];
static volatile uint64_t sink;

static inline __attribute__((always_inline)) struct fact *begin(void) {
    struct fact *fact = &facts[facts_len < FACTS_MAX - 1 ? facts_len++ : facts_len];
    fact->generation = GENERATION;
    fact->start = tw_profile_now();
    return fact;
}

static inline __attribute__((always_inline)) void end(struct fact *fact) { fact->end = tw_profile_now(); }

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A fixed amount of work. */
static inline __attribute__((always_inline)) void turns(uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        __asm__ volatile("" : "+r"(i));
}

/* Depths from which a frame lasts some microseconds, and of a round's lowest frame. */
enum { TIMED = 12, ROOT = 17 };

APART static uint64_t branch(unsigned depth) {
    turns(4);
    return depth == 0 ? 1 : branch(depth - 1) + branch(depth - 1);
}

APART static uint64_t trunk(unsigned depth) {
    if (depth < TIMED)
        return branch(depth);
    struct fact *fact = begin();
    uint64_t found = trunk(depth - 1) + trunk(depth - 1);
    end(fact);
    return found;
}

APART static void leaf(uint64_t count) {
    struct fact *fact = begin();
    turns(count);
    end(fact);
}

static uint64_t turns_per_us;

APART static void request(unsigned number) {
    struct fact *fact = number % 10 == 0 ? begin() : NULL;
    sink += branch(6);
    if (fact) {
        leaf((10 + number / 10 % 4 * 10) * turns_per_us);
        end(fact);
    }
}

static void requests(void) {
    for (unsigned number = 0; number < 400; number++)
        request(number);
}

/* The fastest of several tries, since any may be interrupted. */
TW_PROFILE_SKIP static void calibrate(void) {
    uint64_t best = UINT64_MAX, count = 200000;
    for (int try = 0; try < 25; try++) {
        uint64_t start = now_ns();
        turns(count);
        uint64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    turns_per_us = 1000 * count / (best ? best : 1);
}

static int ascending(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return fprintf(stderr, "truth tree|requests MILLISECONDS\n"), 2;
    int is_tree = strcmp(argv[1], "tree") == 0;
    calibrate();
    uint64_t rounds = 0, start = now_ns(), ticks = tw_profile_now();
    uint64_t until = start + strtoul(argv[2], NULL, 10) * 1000000;
    for (; rounds < ROUNDS_MAX && now_ns() < until; rounds++) {
        uint64_t before = tw_profile_now();
        if (is_tree)
            sink += trunk(ROOT);
        else
            requests();
        ticks_of_round[rounds] = (uint32_t)(tw_profile_now() - before);
    }
    double ns_per_tick = (double)(now_ns() - start) / (double)(tw_profile_now() - ticks);
    tw_profile_stop();
    qsort(ticks_of_round, rounds, sizeof *ticks_of_round, ascending);
    printf("%.1f %lu %.9f\n", ns_per_tick * ticks_of_round[rounds / 2], rounds, ns_per_tick);
    for (unsigned i = 0; i < facts_len; i++)
        printf("%lu %lu %lu\n", facts[i].generation, facts[i].start, facts[i].end);
    return 0;
}
