/* A call that is slow for two reasons, one after the other: a lock that another thread holds, and a sleep. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held;
static uint64_t ms;

/* The work after it keeps its caller from being gone before it ends. */
static void nap(void) {
    struct timespec time = { (time_t)(ms / 1000), (long)(ms % 1000 * 1000000) };
    nanosleep(&time, NULL);
    sink = sink + 1;
}

static NOINLINE void planted_hold(void) {
    pthread_mutex_lock(&lock);
    sem_post(&held);
    nap();
    pthread_mutex_unlock(&lock);
    sink = sink + 1;
}

static void *holder(void *nothing) {
    pthread_setname_np(pthread_self(), "holder");
    planted_hold();
    return nothing;
}

static NOINLINE void planted_wait(void) {
    pthread_mutex_lock(&lock);
    sink = sink + 1;
    pthread_mutex_unlock(&lock);
    sink = sink + 1;
}

static NOINLINE void planted_sleep(void) {
    nap();
    sink = sink + 1;
}

static NOINLINE void slow_call(void) {
    planted_wait();
    planted_sleep();
    sink = sink + 1;
}

int main(int count, char **words) {
    ms = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    pthread_t thread;
    sem_init(&held, 0, 0);
    if (pthread_create(&thread, NULL, holder, NULL))
        return 1;
    sem_wait(&held);
    slow_call();
    pthread_join(thread, NULL);
    return 0;
}
