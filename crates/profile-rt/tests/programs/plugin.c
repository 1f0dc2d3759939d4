/* A library that plugins.c opens and closes; WHO is what its functions' names begin with. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define APART __attribute__((noinline))
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define MINE(name) JOIN(WHO, name)

static volatile unsigned sink;

static inline __attribute__((always_inline)) void spin(long us) {
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

/* Keeps the lock, if it is given one. */
APART static void MINE(_inner)(pthread_mutex_t *mutex, long us) {
    if (mutex)
        pthread_mutex_lock(mutex);
    spin(us);
    sink++;
}

APART static void MINE(_outer)(pthread_mutex_t *mutex, long us) {
    MINE(_inner)(mutex, us);
    sink++;
}

void (*const plugin)(pthread_mutex_t *, long) = MINE(_outer);

/* Runs while the library is being closed. */
APART static void MINE(_farewell)(void) {
    spin(1000);
    sink++;
}
__attribute__((destructor)) static void close(void) { MINE(_farewell)(); sink++; }
