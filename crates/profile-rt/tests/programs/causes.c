/* Requests that are slow for a planted reason, one for each word: tests/tests/profile_causes.rs plants the other half of it
 * (neighbours on the first core) and reads who is named. */
#define _GNU_SOURCE
#include <tailwater/profile.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

enum { FRESH_PAGES = 2048, PAGE = 4096, EACH_SLOW = 10 };

static volatile uint64_t sink;

static uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Has a core for so long, however long it waits for one. */
static NOINLINE void work(uint64_t us) {
    for (uint64_t end = thread_ns() + us * 1000u; thread_ns() < end;)
        for (int i = 0; i < 200; i++)
            sink = sink + 1;
}

static void nap(long us) {
    struct timespec time = { 0, us * 1000 };
    nanosleep(&time, NULL);
}

/* Before all normal threads: what else the machine has to do is not planted, and may not be a cause. */
static void first(int policy) {
    struct sched_param param = { .sched_priority = 1 };
    if (pthread_setschedparam(pthread_self(), policy, &param))
        exit(3);
}

static void stay_on(int nth) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        exit(3);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || nth-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/* ---- the core has neighbours ---- */

/* They take turns with one another and with what is planted on their core. */
static void neighbour(void) {
    stay_on(0);
    first(SCHED_RR);
}

static void run(unsigned long requests) {
    neighbour();
    for (unsigned long request = 0; request < requests; request++) {
        tw_req_start(request);
        work(1000);
        sched_yield();
        work(1000);
        tw_req_end(request);
    }
}

/* ---- who holds the lock has no core ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begin, held;
static unsigned long rounds;

static NOINLINE void hold(void) {
    pthread_mutex_lock(&lock);
    sem_post(&held);
    work(1000);
    sched_yield();
    work(1000);
    pthread_mutex_unlock(&lock);
}

static void *holder(void *nothing) {
    pthread_setname_np(pthread_self(), "holder");
    neighbour();
    for (unsigned long round = 0; round < rounds; round++) {
        sem_wait(&begin);
        hold();
    }
    return nothing;
}

static void locked(unsigned long requests) {
    pthread_t thread;
    rounds = requests;
    sem_init(&begin, 0, 0);
    sem_init(&held, 0, 0);
    if (pthread_create(&thread, NULL, holder, NULL))
        exit(1);
    stay_on(1);
    first(SCHED_FIFO);
    for (unsigned long request = 0; request < requests; request++) {
        sem_post(&begin);
        sem_wait(&held);
        tw_req_start(request);
        pthread_mutex_lock(&lock);
        work(50);
        pthread_mutex_unlock(&lock);
        tw_req_end(request);
    }
    pthread_join(thread, NULL);
}

/* ---- memory that nothing has touched ---- */

static void touch(unsigned long requests) {
    first(SCHED_FIFO);
    for (unsigned long request = 0; request < requests; request++) {
        size_t size = (size_t)(request % EACH_SLOW ? 4 : FRESH_PAGES) * PAGE;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            exit(1);
        madvise(memory, size, MADV_NOHUGEPAGE);
        tw_req_start(request);
        work(50);
        for (size_t at = 0; at < size; at += PAGE)
            memory[at] = 1;
        tw_req_end(request);
        munmap(memory, size);
        nap(500);
    }
}

/* ---- nothing is planted: some requests have more to do than others ---- */

static void control(unsigned long requests) {
    first(SCHED_FIFO);
    for (unsigned long request = 0; request < requests; request++) {
        tw_req_start(request);
        work(request % EACH_SLOW ? 200 : 2000);
        tw_req_end(request);
        nap(500);
    }
}

int main(int count, char **words) {
    if (count > 1 && !strcmp(words[1], "hog"))
        for (neighbour();;)
            sink = sink + 1;
    if (count < 3)
        return 2;
    unsigned long requests = strtoul(words[2], NULL, 10);
    if (!strcmp(words[1], "run"))
        run(requests);
    else if (!strcmp(words[1], "locked"))
        locked(requests);
    else if (!strcmp(words[1], "touch"))
        touch(requests);
    else if (!strcmp(words[1], "control"))
        control(requests);
    else
        return 2;
    return 0;
}
