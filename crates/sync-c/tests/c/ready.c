/* Ready sets through the C interface. Exits 0 if all holds. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tailwater/ready.h"

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { QUEUES = 5000, EACH = 100000, PRODUCERS = 2 };

static tw_ready *set;
/* What was pushed and not popped yet. */
static atomic_int items[QUEUES];

static void *produce(void *seed) {
    uint32_t state = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < EACH; i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t queue = (state >> 8) % QUEUES;
        atomic_fetch_add_explicit(&items[queue], 1, memory_order_relaxed);
        tw_ready_ring(set, queue);
    }
    return NULL;
}

static int visit(uint32_t queue) {
    return atomic_exchange_explicit(&items[queue], 0, memory_order_relaxed);
}

/* Sleeps in poll(), as an event loop does. */
static uint32_t next_by_poll(void) {
    for (;;) {
        uint32_t queue = tw_ready_take(set);
        if (queue != TW_READY_NONE) {
            return queue;
        }
        int sleeps = tw_ready_arm(set);
        CHECK(sleeps >= 0);
        if (sleeps) {
            struct pollfd event = {.fd = tw_ready_fd(set), .events = POLLIN};
            CHECK(poll(&event, 1, -1) == 1);
        }
    }
}

static uint32_t next_by_wait(void) {
    return tw_ready_wait(set, UINT64_MAX);
}

static void nothing_is_lost(uint32_t (*next)(void)) {
    set = tw_ready_new(QUEUES, TW_READY_ROUND_ROBIN, NULL);
    CHECK(set != NULL);
    pthread_t producers[PRODUCERS];
    for (uintptr_t i = 0; i < PRODUCERS; i++) {
        CHECK(pthread_create(&producers[i], NULL, produce, (void *)(i + 1)) == 0);
    }
    for (int found = 0; found < PRODUCERS * EACH;) {
        found += visit(next());
    }
    for (int i = 0; i < PRODUCERS; i++) {
        CHECK(pthread_join(producers[i], NULL) == 0);
    }
    /* A bell may be left whose item was found before it rang. */
    for (uint32_t queue; (queue = tw_ready_take(set)) != TW_READY_NONE;) {
        CHECK(visit(queue) == 0);
    }
    CHECK(tw_ready_wait(set, 1000) == TW_READY_NONE);
    tw_ready_free(set);
}

static void policies(void) {
    const uint32_t weights[] = {2, 1}, zero[] = {1, 0}, large[] = {1, 65536}, one[] = {1};
    CHECK(tw_ready_new(0, TW_READY_ROUND_ROBIN, NULL) == NULL);
    CHECK(tw_ready_new(262145, TW_READY_ROUND_ROBIN, NULL) == NULL);
    CHECK(tw_ready_new(2, 5, NULL) == NULL);
    CHECK(tw_ready_new(2, TW_READY_WEIGHTED, NULL) == NULL);
    CHECK(tw_ready_new(2, TW_READY_WEIGHTED, zero) == NULL);
    CHECK(tw_ready_new(2, TW_READY_WEIGHTED, large) == NULL);
    const struct {
        int policy;
        const uint32_t *shares;
        uint32_t visits[6];
    } cases[] = {
        {TW_READY_ROUND_ROBIN, NULL, {0, 1, 0, 1, 0, 1}}, {TW_READY_WEIGHTED, weights, {0, 0, 1, 0, 0, 1}},
        {TW_READY_STRICT, NULL, {0, 0, 0, 0, 0, 0}},      {TW_READY_AGED, one, {0, 0, 0, 1, 0, 0}},
        {TW_READY_DEFICIT, weights, {0, 0, 1, 0, 0, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tw_ready *both = tw_ready_new(2, cases[i].policy, cases[i].shares);
        CHECK(tw_ready_take(both) == TW_READY_NONE);
        CHECK(tw_ready_ring(both, 1) == 0 && tw_ready_ring(both, 0) == 0);
        for (int visit = 0; visit < 6; visit++) {
            uint32_t queue = tw_ready_take(both);
            CHECK(queue == cases[i].visits[visit]);
            tw_ready_charge(both, queue, 0);
            tw_ready_again(both, queue);
        }
        tw_ready_free(both);
    }
    tw_ready_free(NULL);
}

/* Without room for another file descriptor the set says why, and works on. */
static void errors_have_a_number(void) {
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    /* The lowest number that is free. */
    int next = dup(0);
    CHECK(next >= 0 && close(next) == 0);
    struct rlimit full = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &full) == 0);
    tw_ready *some = tw_ready_new(2, TW_READY_ROUND_ROBIN, NULL);
    errno = 0;
    CHECK(tw_ready_fd(some) == -EMFILE);
    CHECK(tw_ready_arm(some) == -EMFILE);
    CHECK(errno == 0);
    CHECK(tw_ready_ring(some, 1) == 0 && tw_ready_take(some) == 1);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(tw_ready_arm(some) == 1 && tw_ready_fd(some) >= 0);
    tw_ready_free(some);
}

int main(void) {
    policies();
    errors_have_a_number();
    nothing_is_lost(next_by_wait);
    nothing_is_lost(next_by_poll);
    return 0;
}
