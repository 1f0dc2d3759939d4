/* Misuses a lock in the way that its argument names. Aborts. */
#include <pthread.h>
#include <string.h>

#include "tailwater/sync.h"

static tw_mutex *mutex;
static tw_condvar *condvar;
static int waits;

static void *lock(void *unused) {
    (void)unused;
    tw_mutex_lock(mutex);
    return NULL;
}

/* Whoever then has the mutex knows that it waits at the condvar. */
static void *wait_at_condvar(void *unused) {
    (void)unused;
    tw_mutex_lock(mutex);
    waits = 1;
    tw_condvar_wait(condvar, mutex);
    return NULL;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    pthread_t other;
    mutex = tw_mutex_new("twice");
    condvar = tw_condvar_new(NULL);
    if (strcmp(how, "free-held") == 0) {
        tw_mutex_lock(mutex);
        tw_mutex_free(mutex);
    } else if (strcmp(how, "free-waited-for") == 0) {
        tw_mutex_lock(mutex);
        if (pthread_create(&other, NULL, lock, NULL) != 0) return 1;
        /* It cannot return before we unlock: it waits, or is about to. */
        tw_mutex_free(mutex);
    } else if (strcmp(how, "free-waited-at") == 0) {
        if (pthread_create(&other, NULL, wait_at_condvar, NULL) != 0) return 1;
        for (int seen = 0; !seen;) {
            tw_mutex_lock(mutex);
            seen = waits;
            tw_mutex_unlock(mutex);
        }
        tw_condvar_free(condvar);
    } else if (strcmp(how, "lock-twice") == 0) {
        tw_mutex_lock(mutex);
        tw_mutex_lock(mutex);
    }
    return 0;
}
