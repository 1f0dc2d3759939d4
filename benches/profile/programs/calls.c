/* What a tool costs per call: empty functions that are not inlined, called in a loop.
 *
 * Compiled twice, with the tool and without, into one program: what is compared runs by turns in one
 * process, so that frequency and neighbours are the same for both. Each loop says how many calls it
 * made. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(name) JOIN(name, VARIANT)

__attribute__((noinline)) void NAME(empty)(void) { __asm__ volatile(""); }
__attribute__((noinline)) void NAME(outer)(void) {
    NAME(empty)();
    __asm__ volatile("");
}

/* Loops are aligned alike, lest their place decides. */
__attribute__((aligned(64))) long NAME(flat)(long calls) {
    long done = 0;
    for (; done < calls; done++)
        NAME(empty)();
    return done;
}

/* Two calls a turn. */
__attribute__((aligned(64))) long NAME(nested)(long calls) {
    long done = 0;
    for (; done < calls; done += 2)
        NAME(outer)();
    return done;
}

/* A call tree, recursion with a branch, until there were as many calls. */
__attribute__((noinline)) static long NAME(tree)(long depth) {
    __asm__ volatile("" : "+r"(depth)); /* or the compiler would compute the answer */
    if (depth == 0)
        return 1;
    long left = NAME(tree)(depth - 1);
    __asm__ volatile("" : "+r"(left)); /* or the second call would be a turn of a loop */
    long right = NAME(tree)(depth - 1);
    __asm__ volatile("" : "+r"(right));
    return left + right + 1;
}

__attribute__((aligned(64))) long NAME(recursive)(long calls) {
    long done = 0;
    while (done < calls)
        done += NAME(tree)(10);
    return done;
}
