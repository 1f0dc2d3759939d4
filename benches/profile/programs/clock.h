/* What the thread that calls it has used of its core, in ns: being off the core does not count. */
#include <stdint.h>
#include <time.h>

static inline uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* FNV-1a, for answers. Inlined, so that it is part of whoever asks. */
static inline uint64_t mix(uint64_t hash, uint64_t value) {
    for (int i = 0; i < 8; i++)
        hash = (hash ^ ((value >> (8 * i)) & 255)) * 1099511628211u;
    return hash;
}
