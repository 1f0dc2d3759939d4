/* Where in a function its time went. The test looks for the lines by the words at their ends. */
#include <tailwater/profile.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline))
/* Or what comes before it were a tail call, in which the caller has no frame. */
#define STAY __asm__ volatile("")

/* In nanoseconds: by a clock of whole microseconds a call of 2 ms ends up to one of them too early. Raw, since the counter of
   the trace isn't slewed either. */
static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

APART static void busy(int64_t us) {
    for (int64_t until = now_ns() + us * 1000; now_ns() < until;)
        ;
}

/* Inlined where they are called, as a static function that has one caller is. */
static inline __attribute__((always_inline)) void slowest_part(void) {
    busy(2000); /* the slowest part */
}

static inline __attribute__((always_inline)) void slow_path(void) {
    slowest_part(); /* the slow path */
}

APART static void handle(unsigned n) {
    busy(50); /* the quick call */
    if (n % 20 == 0)
        slow_path(); /* the slow call */
    busy(50); /* the last call */
    STAY;
}

/* Called by the C library, on behalf of what sorts. */
APART static int compare(const void *left, const void *right) {
    busy(300);
    return *(const int *)left - *(const int *)right;
}

APART static void sorts(void) {
    int numbers[] = {4, 1, 3, 2};
    qsort(numbers, 4, sizeof *numbers, compare);
    busy(300); /* after the sort */
    STAY;
}

/* One in another, and both in a third: 30 ms, to be counted once. */
APART static void nest_inner(void) {
    busy(10000);
    STAY;
}

APART static void nest_outer(int deeper) {
    busy(10000);
    if (deeper)
        nest_outer(0);
    else
        nest_inner();
    STAY;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_held, is_waiting;

static inline __attribute__((always_inline)) void audit(void) {
    pthread_mutex_lock(&lock); /* the holder's lock */
    atomic_store(&is_held, 1);
    while (!atomic_load(&is_waiting))
        busy(10);
    busy(20000);
    pthread_mutex_unlock(&lock);
}

APART static void maintain(void) {
    busy(100);
    audit();
    STAY;
}

static void *maintainer(void *unused) {
    (void)unused;
    maintain();
    return NULL;
}

APART static void waits(unsigned request) {
    while (!atomic_load(&is_held))
        busy(10);
    tw_req_start(request);
    atomic_store(&is_waiting, 1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    busy(5000); /* in the request */
    tw_req_end(request);
}

static void meet(unsigned request) {
    pthread_t thread;
    atomic_store(&is_held, 0);
    atomic_store(&is_waiting, 0);
    pthread_create(&thread, NULL, maintainer, NULL);
    waits(request);
    pthread_join(thread, NULL);
}

int main(int count, char **words) {
    for (unsigned n = 1, last = count > 1 ? (unsigned)atoi(words[1]) : 0; n <= last; n++) {
        handle(n);
        if (n % 40 == 0) {
            sorts();
            nest_outer(1);
            meet(n);
        }
    }
    return 0;
}
