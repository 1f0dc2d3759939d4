/* Exclusion, budgets and notifications through the C interface. Exits 0 if all holds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tailwater/sync.h"

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

static tw_mutex *mutex;
static tw_condvar *condvar;
static long count;
static int ready;

static void *add(void *unused) {
    (void)unused;
    for (int i = 0; i < 10000; i++) {
        tw_mutex_lock(mutex);
        count++;
        tw_mutex_unlock(mutex);
    }
    return NULL;
}

static void *ask(void *unused) {
    (void)unused;
    tw_refused why = {1, 1, 1};
    CHECK(tw_budget_get(NULL) == 0);
    CHECK(tw_mutex_trylock(mutex) == TW_REFUSED);
    tw_budget_set(0);
    CHECK(tw_mutex_lock_within_budget(mutex, &why) == TW_REFUSED);
    CHECK(why.oldest_wait_ns == 0 && why.left_ns == 0 && why.waited_ns == 0);
    tw_budget_set(1000);
    CHECK(tw_mutex_lock_within_budget(mutex, &why) == TW_REFUSED && why.waited_ns >= 1000);
    uint64_t left = 1;
    CHECK(tw_budget_get(&left) == 1 && left == 0);
    tw_budget_clear();
    return NULL;
}

static void *notify(void *unused) {
    (void)unused;
    tw_mutex_lock(mutex);
    ready = 1;
    tw_mutex_unlock(mutex);
    tw_condvar_notify_all(condvar);
    return NULL;
}

static void *run(void *(*work)(void *), int threads) {
    pthread_t all[4];
    for (int i = 0; i < threads; i++) CHECK(pthread_create(&all[i], NULL, work, NULL) == 0);
    for (int i = 0; i < threads; i++) CHECK(pthread_join(all[i], NULL) == 0);
    return NULL;
}

int main(void) {
    mutex = tw_mutex_new("count");
    condvar = tw_condvar_new(NULL);
    run(add, 4);
    CHECK(count == 40000);

    tw_mutex_lock(mutex);
    run(ask, 1);
    tw_budget_set(1000);
    CHECK(tw_condvar_wait_within_budget(condvar, mutex, NULL) == TW_REFUSED);
    tw_budget_clear();
    pthread_t other;
    CHECK(pthread_create(&other, NULL, notify, NULL) == 0);
    while (!ready) tw_condvar_wait(condvar, mutex);
    tw_mutex_unlock(mutex);
    CHECK(pthread_join(other, NULL) == 0);

    tw_condvar_free(condvar);
    tw_mutex_free(mutex);
    tw_mutex_free(NULL);
    return 0;
}
