/* Times the loops of calls.c by turns: as compiled without a tool and with it. Usage: calls ROUNDS CALLS.
 * Prints, for each, "NAME PLAIN TOOL EXTRA" in ns per call: the medians of the rounds, and the median of
 * the differences within a round. */
#include "clock.h"
#include <stdio.h>
#include <stdlib.h>

#define DECLARE(variant)                                                                           \
    long flat##variant(long), nested##variant(long), recursive##variant(long)
DECLARE(_plain);
DECLARE(_tool);

struct shape {
    const char *name;
    long (*plain)(long), (*tool)(long);
};
static const struct shape shapes[] = {
    {"empty", flat_plain, flat_tool},
    {"nested", nested_plain, nested_tool},
    {"tree", recursive_plain, recursive_tool},
};
enum { ROUNDS_MAX = 1001 };

/* Only calls that were really made count. */
static double per_call_ns(long (*loop)(long), long calls) {
    uint64_t start = cpu_ns();
    long made = loop(calls);
    uint64_t took = cpu_ns() - start;
    if (made < calls)
        abort();
    return (double)took / (double)made;
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
    double plain[ROUNDS_MAX], tool[ROUNDS_MAX], extra[ROUNDS_MAX];
    shape->tool(calls / 10);
    for (int round = 0; round < rounds; round++) {
        plain[round] = per_call_ns(shape->plain, calls);
        tool[round] = per_call_ns(shape->tool, calls);
        extra[round] = tool[round] - plain[round];
    }
    printf("%s %.3f %.3f %.3f\n", shape->name, median(plain, rounds), median(tool, rounds),
           median(extra, rounds));
}

int main(int argc, char **argv) {
    int rounds = argc == 3 ? atoi(argv[1]) : 0;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return fprintf(stderr, "calls ROUNDS CALLS, at most %d rounds\n", ROUNDS_MAX), 2;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        measure(&shapes[i], rounds, atol(argv[2]));
}
