/* Times the loops of calls.c by turns and prints, for each, ns per call without and with the pass:
 * the median of the rounds, and the median of the differences within a round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DECLARE(variant)                                                                           \
    void flat##variant(long), nested##variant(long), recursive##variant(long)
DECLARE(_plain);
DECLARE(_pass);

struct shape {
    const char *name;
    void (*plain)(long), (*pass)(long);
};
static const struct shape shapes[] = {
    {"empty", flat_plain, flat_pass},
    {"nested", nested_plain, nested_pass},
    {"tree", recursive_plain, recursive_pass},
};
enum { ROUNDS_MAX = 101 };

static double per_call_ns(void (*loop)(long), long calls) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    loop(calls);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, int count) {
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static void measure(const struct shape *shape, int rounds, long calls) {
    double plain[ROUNDS_MAX], pass[ROUNDS_MAX], extra[ROUNDS_MAX];
    shape->pass(calls / 10);
    for (int round = 0; round < rounds; round++) {
        plain[round] = per_call_ns(shape->plain, calls);
        pass[round] = per_call_ns(shape->pass, calls);
        extra[round] = pass[round] - plain[round];
    }
    printf("%-8s %8.2f %8.2f %8.2f\n", shape->name, median(plain, rounds), median(pass, rounds),
           median(extra, rounds));
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    printf("ns/call     plain     pass    extra\n");
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        measure(&shapes[i], is_short ? 5 : ROUNDS_MAX, is_short ? 1000000 : 10000000);
}
