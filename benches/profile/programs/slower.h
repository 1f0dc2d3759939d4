/* SLOWER, as the first line of a function, makes each of its calls SLOWER_PERCENT longer where that is defined, and nothing
 * otherwise. For `-include`: no header of the system may come before the macros that a program chooses these by. */
#ifndef SLOWER_PERCENT
#define SLOWER
#else
#define SLOWER __attribute__((cleanup(slower_end))) unsigned long long slower_start = __builtin_readcyclecounter();

static inline __attribute__((always_inline)) void slower_end(unsigned long long *start) {
    unsigned long long took = __builtin_readcyclecounter() - *start;
    unsigned long long wanted = took + took * SLOWER_PERCENT / 100;
    while (__builtin_readcyclecounter() - *start < wanted)
        ;
}
#endif
