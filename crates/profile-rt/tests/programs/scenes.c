/* What the recorder is tried on, one scene for each word. Built by tailwater-cc; the tests in
 * tests/tests/profile_record.rs read the traces. */
#define _GNU_SOURCE
#include <tailwater/profile.h>
#include <tailwater/profile_abi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static uint64_t raw_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t ticks_per_us;

static void calibrate(void) {
    uint64_t ns = raw_ns(), ticks = tw_profile_now();
    while (raw_ns() - ns < 2000000)
        ;
    ticks_per_us = (tw_profile_now() - ticks) / ((raw_ns() - ns) / 1000);
}

/* Busy for a time, without a call to anything instrumented. */
static inline __attribute__((always_inline)) void spin(uint64_t us) {
    uint64_t until = tw_profile_now() + us * ticks_per_us;
    while (tw_profile_now() < until)
        ;
}

static volatile uint64_t sink;

/* ---- truth: calls that know when they began and ended ---- */

struct fact {
    uint64_t generation, start, end;
};
static struct fact *facts;
static unsigned facts_len;

/* A microsecond at least, in instructions and not by the clock. A processor that looks on may read the clock
 * so much before or after the load that stands beside it, since neither waits for the other; and the call
 * may wait so long in this processor's store buffer. What is read a margin within a call is true of it on
 * any machine, however the threads are scheduled. */
static inline __attribute__((always_inline)) void margin(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned n = 0; n < 4000; n++)
        __asm__ volatile("");
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

APART static void leaf(uint64_t us) {
    struct fact *fact = &facts[facts_len++];
    margin();
    fact->start = tw_profile_now();
    fact->generation = tw_profile_context->generation;
    spin(us);
    fact->end = tw_profile_now();
    margin();
}

APART static void quick(unsigned n) { sink += n; }

APART static void branch(unsigned i) {
    struct fact *fact = &facts[facts_len++];
    margin();
    fact->start = tw_profile_now();
    fact->generation = tw_profile_context->generation;
    for (unsigned n = 0; n < 2000; n++)
        quick(n);
    leaf(i % 5 * 10);
    fact->end = tw_profile_now();
    margin();
}

static int truth(unsigned calls) {
    facts = calloc(calls * 2 + 2, sizeof *facts);
    for (unsigned i = 0; i < calls; i++)
        branch(i);
    for (unsigned i = 0; i < facts_len; i++)
        printf("%lu %lu %lu\n", facts[i].generation, facts[i].start, facts[i].end);
    return 0;
}

/* ---- durations: calls that write down how long they took, of which some take a slow path ---- */

/* The call took the time from start to end at least, and that from before to after at most. */
struct duration {
    uint64_t generation, before, start, end, after;
};

APART static void slow_path(uint64_t us) {
    margin();
    spin(us);
    margin();
}

APART static void request(struct duration *duration, unsigned i) {
    margin();
    duration->start = tw_profile_now();
    duration->generation = tw_profile_context->generation;
    spin(600 + i % 7 * 200);
    if (i % 100 == 0)
        slow_path(20000 + i % 2000 * 30);
    duration->end = tw_profile_now();
    margin();
}

/* Prints which call each request was, and how many ticks it took at least and at most. */
static int durations(unsigned requests) {
    struct duration *all = calloc(requests, sizeof *all);
    for (unsigned i = 0; i < requests; i++) {
        all[i].before = tw_profile_now();
        margin();
        request(&all[i], i);
        margin();
        all[i].after = tw_profile_now();
    }
    for (unsigned i = 0; i < requests; i++)
        printf("%lu %lu %lu\n", all[i].generation, all[i].end - all[i].start, all[i].after - all[i].before);
    return 0;
}

/* ---- refresh: twenty frames, built anew every so often (the paper's section 6.1) ---- */

APART static void frames(unsigned depth, uint64_t us) {
    char padding[96];
    __asm__ volatile("" : : "r"(padding) : "memory");
    if (depth == 0)
        spin(us);
    else
        frames(depth - 1, us);
    __asm__ volatile("" : : "r"(padding) : "memory");
}

/* Prints how often it went round. */
static int refresh(uint64_t us, uint64_t ms) {
    uint64_t until = tw_profile_now() + ms * 1000 * ticks_per_us, rounds = 0;
    for (; tw_profile_now() < until; rounds++)
        frames(19, us);
    printf("%lu\n", rounds);
    return 0;
}

/* ---- locks: one holds, the other waits ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

APART static void snapshot(uint64_t us) {
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&both);
    spin(us);
    pthread_mutex_unlock(&mutex);
}

static void *background(void *us) {
    pthread_setname_np(pthread_self(), "background");
    snapshot((uint64_t)(uintptr_t)us);
    return NULL;
}

APART static void handler(void) {
    tw_req_start(7);
    pthread_mutex_lock(&mutex);
    sink++;
    pthread_mutex_unlock(&mutex);
    tw_req_end(7);
}

static int locks(uint64_t us) {
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, background, (void *)(uintptr_t)us);
    pthread_barrier_wait(&both);
    handler();
    pthread_join(thread, NULL);
    return 0;
}

/* ---- relay: two threads take turns by a condition ---- */

static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned turn;

APART static void take_turns(unsigned mine, unsigned rounds) {
    for (unsigned round = 0; round < rounds; round++) {
        pthread_mutex_lock(&mutex);
        while (turn % 2 != mine)
            pthread_cond_wait(&turn_changed, &mutex);
        spin(20);
        turn++;
        pthread_cond_signal(&turn_changed);
        pthread_mutex_unlock(&mutex);
    }
}

static void *other_runner(void *rounds) {
    take_turns(1, (unsigned)(uintptr_t)rounds);
    return NULL;
}

static int relay(unsigned rounds) {
    pthread_t other;
    pthread_create(&other, NULL, other_runner, (void *)(uintptr_t)rounds);
    take_turns(0, rounds);
    pthread_join(other, NULL);
    return turn == 2 * rounds ? 0 : 1;
}

/* ---- marks: as fast as they can be made ---- */

static int marks(uint64_t requests) {
    for (uint64_t request = 0; request < requests; request++) {
        tw_req_start(request);
        tw_req_end(request);
    }
    return 0;
}

/* ---- holds: locks that nothing waits for ---- */

static pthread_mutex_t shelf = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t ledger = PTHREAD_RWLOCK_INITIALIZER;

APART static void keeps(void) {
    pthread_mutex_lock(&shelf);
    pthread_rwlock_rdlock(&ledger);
    spin(2000);
    pthread_rwlock_unlock(&ledger);
    spin(1000);
    pthread_mutex_unlock(&shelf);
}

APART static void glances(void) {
    if (!pthread_mutex_trylock(&shelf))
        pthread_mutex_unlock(&shelf);
}

static pthread_mutex_t nested, busy = PTHREAD_MUTEX_INITIALIZER;

/* More often than a thread's holds are noted. */
APART static void nests(void) {
    for (int depth = 0; depth < 12; depth++)
        pthread_mutex_lock(&nested);
    spin(2000);
    for (int depth = 0; depth < 12; depth++)
        pthread_mutex_unlock(&nested);
}

APART static void gives_up(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_timedlock(&busy, &until);
}

static void *nests_once(void *nothing) {
    nests();
    return nothing;
}

static void *gives_up_often(void *rounds) {
    for (unsigned round = 0; round < *(unsigned *)rounds; round++) {
        gives_up();
        glances();
    }
    return NULL;
}

static int holds(unsigned rounds) {
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&nested, &recursive);
    for (unsigned round = 0; round < rounds; round++) {
        keeps();
        glances();
        nests();
    }
    pthread_t thread;
    pthread_mutex_lock(&nested);
    if (pthread_create(&thread, NULL, nests_once, NULL))
        return 1;
    spin(5000);
    pthread_mutex_unlock(&nested);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&busy);
    if (pthread_create(&thread, NULL, gives_up_often, &rounds))
        return 1;
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&busy);
    return 0;
}

/* ---- caller and called: two processes, each one's output the other's input ---- */

static int says(void) { return write(STDOUT_FILENO, "", 1) == 1; }

static int hears(void) {
    char word;
    return read(STDIN_FILENO, &word, 1) == 1;
}

/* Requests 1 and on call the other process, after a wait of a millisecond elsewhere. Those from 101 on are worked for
 * beside them, and those from 201 on are handed over. Calls are numbered from 1001 on. */
static int caller(unsigned rounds) {
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t calls = 1 + round, beside = 101 + round, handed_over = 201 + round, call = 1001 + round;
        tw_req_start_waited(calls, 1000000);
        spin(1);
        tw_req_sent(calls, call);
        tw_req_block(calls);
        if (!says() || !hears())
            return 1;
        tw_req_answered(calls, call);
        spin(1);
        tw_req_start(calls);
        tw_req_start(beside);
        tw_req_start(handed_over);
        spin(1);
        tw_req_block(handed_over);
        tw_req_end_all();
        /* That was not among all. */
        spin(1);
        tw_req_finish(handed_over);
    }
    return 0;
}

/* The queue of what is called; an address is all that counts of it. */
static int backlog[4];

/* Its requests are numbered from 301 on. They are blocked when they end, as where another thread answers. */
static int called(unsigned rounds) {
    for (uint64_t round = 0; round < rounds; round++) {
        if (!hears())
            return 1;
        uint64_t request = 301 + round, enqueued = tw_profile_now();
        spin(1);
        tw_req_start_dequeued(request, enqueued, &backlog);
        tw_req_called(request, 1001 + round);
        spin(1);
        tw_req_block(request);
        spin(1);
        tw_req_finish(request);
        if (!says())
            return 1;
    }
    return 0;
}

/* ---- crowd: many threads at a time, then as many again ---- */

APART static void task(void) { spin(50); }

static void *worker(void *barrier) {
    task();
    pthread_barrier_wait(barrier);
    task();
    return NULL;
}

static int crowd(unsigned count) {
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int round = 0; round < 2; round++) {
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, count);
        for (unsigned i = 0; i < count; i++)
            if (pthread_create(&threads[i], &small, worker, &barrier))
                return 1;
        for (unsigned i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}

/* ---- family: fork, exec, and life after it ---- */

APART static void child_work(uint64_t ms) { spin(1000 * ms); }
APART static void parent_work(uint64_t ms) { spin(1000 * ms); }

APART static pid_t split(void) { return fork(); }

static int family(char *self, uint64_t ms) {
    pid_t child = split();
    if (child == 0) {
        child_work(ms);
        /* Frames pushed before the fork are left behind it. */
        _exit(tw_profile_stop() == 0 ? 11 : 12);
    }
    int status;
    waitpid(child, &status, 0);
    parent_work(ms);
    pid_t other = split();
    if (other == 0) {
        execl(self, self, "truth", "3", (char *)NULL);
        _exit(13);
    }
    int second;
    waitpid(other, &second, 0);
    parent_work(ms);
    return WEXITSTATUS(status) == 11 && WEXITSTATUS(second) == 0 ? 0 : 1;
}

/* ---- deep: more frames than any stack of frames should hold ---- */

APART static uint64_t dive(uint64_t depth) {
    return depth == 0 ? 1 : dive(depth - 1) + (sink & 1);
}

static void *diver(void *depth) {
    uint64_t bottom = dive((uint64_t)depth);
    task();
    return (void *)bottom;
}

static int deep(uint64_t depth) {
    pthread_attr_t large;
    pthread_t thread;
    void *result;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, (1ul << 20) + depth * 48);
    if (pthread_create(&thread, &large, diver, (void *)depth))
        return 1;
    pthread_join(thread, &result);
    return result ? 0 : 1;
}

/* ---- fibers: two stacks that one thread switches between, a frame of each on top of the other's ---- */

static ucontext_t home, away[2];
static struct tw_fiber *fibers[2];

/* Fibers that nobody announces. */
#ifdef UNANNOUNCED
#define tw_fiber_create() NULL
#define tw_fiber_switch(fiber) ((void)(fiber))
#define tw_fiber_destroy(fiber) ((void)(fiber))
#endif

/* Both switch before they leave, and have no frames for that where they announce it. */
APART static void leave(unsigned mine) {
    tw_fiber_switch(NULL);
    swapcontext(&away[mine], &home);
    sink++;
}

APART static void visit(unsigned mine) {
    tw_fiber_switch(fibers[mine]);
    swapcontext(&home, &away[mine]);
    sink++;
}

APART static void ping_inner(void) { spin(300); leave(0); spin(300); sink++; }
APART static void ping_outer(unsigned rounds) {
    for (; rounds; rounds--) { ping_inner(); sink++; }
}
APART static void pong_inner(void) { spin(300); leave(1); spin(300); sink++; }
APART static void pong_outer(unsigned rounds) {
    for (; rounds; rounds--) { pong_inner(); sink++; }
}

TW_PROFILE_SKIP static void fiber(unsigned mine, unsigned rounds) {
    if (mine == 0)
        ping_outer(rounds);
    else
        pong_outer(rounds);
    tw_fiber_switch(NULL);
}

static int switches(unsigned rounds) {
    static char stacks[2][64 << 10];
    for (unsigned mine = 0; mine < 2; mine++) {
        fibers[mine] = tw_fiber_create();
        getcontext(&away[mine]);
        away[mine].uc_stack.ss_sp = stacks[mine];
        away[mine].uc_stack.ss_size = sizeof stacks[mine];
        away[mine].uc_link = &home;
        makecontext(&away[mine], (void (*)(void))fiber, 2, mine, rounds);
    }
    /* Each goes on where it had left, in the middle of its inner function. */
    for (unsigned round = 0; round <= rounds; round++) {
        visit(0);
        visit(1);
    }
    for (unsigned mine = 0; mine < 2; mine++)
        tw_fiber_destroy(fibers[mine]);
    return 0;
}

/* ---- killed: in the middle of its work ---- */

static int killed(uint64_t ms) {
    refresh(100, ms);
    fflush(stdout);
    raise(SIGKILL);
    return 0;
}

int main(int argc, char **argv) {
    const char *scene = argc > 1 ? argv[1] : "";
    uint64_t first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t second = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    calibrate();
    if (!strcmp(scene, "truth"))
        return truth((unsigned)first);
    if (!strcmp(scene, "durations"))
        return durations((unsigned)first);
    if (!strcmp(scene, "refresh"))
        return refresh(first, second);
    if (!strcmp(scene, "locks"))
        return locks(first);
    if (!strcmp(scene, "holds"))
        return holds((unsigned)first);
    if (!strcmp(scene, "relay"))
        return relay((unsigned)first);
    if (!strcmp(scene, "marks"))
        return marks(first);
    if (!strcmp(scene, "caller"))
        return caller((unsigned)first);
    if (!strcmp(scene, "called"))
        return called((unsigned)first);
    if (!strcmp(scene, "crowd"))
        return crowd((unsigned)first);
    if (!strcmp(scene, "family"))
        return family(argv[0], first);
    if (!strcmp(scene, "deep"))
        return deep(first);
    if (!strcmp(scene, "fibers"))
        return switches((unsigned)first);
    if (!strcmp(scene, "killed"))
        return killed(first);
    fprintf(stderr, "no scene '%s'\n", scene);
    return 2;
}
