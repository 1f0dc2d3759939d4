/* What the pass costs per call: empty functions that are not inlined, called in a loop.
 *
 * Compiled twice, with the pass and without, into one program (see calls.sh): what is compared runs
 * by turns in one process, so that frequency and neighbours are the same for both. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, VARIANT)

__attribute__((noinline)) void NAME(empty)(void) { __asm__ volatile(""); }
__attribute__((noinline)) void NAME(outer)(void) {
    NAME(empty)();
    __asm__ volatile("");
}

/* Loops are aligned alike, lest their place decides. */
__attribute__((aligned(64))) void NAME(flat)(long calls) {
    for (long i = 0; i < calls; i++)
        NAME(empty)();
}

/* Two calls a turn. */
__attribute__((aligned(64))) void NAME(nested)(long calls) {
    for (long i = 0; i < calls; i += 2)
        NAME(outer)();
}

/* A call tree, recursion with a branch, until there were as many calls. */
__attribute__((noinline)) static long NAME(tree)(long depth) {
    __asm__ volatile("" : "+r"(depth)); /* or the compiler would compute the answer */
    if (depth == 0)
        return 1;
    return NAME(tree)(depth - 1) + NAME(tree)(depth - 1) + 1;
}

__attribute__((aligned(64))) void NAME(recursive)(long calls) {
    for (long done = 0; done < calls;)
        done += NAME(tree)(10);
}
