/* Locks that know how long a request may still wait: mutex and condition variable for threads.
 *
 * A request gets a budget of queueing delay: the server's target delay, less the 99th percentiles of
 * service and network. Whoever serves it sets the budget on his thread and clears it afterwards.
 * Before a ..._within_budget function waits it compares the age of the oldest waiter with what is left
 * of the budget, and refuses at once if it would not fit; what it waits is deducted, and it gives up
 * when the budget ends. On TW_REFUSED, release what is held and answer that the request was shed.
 * A lock that is free is never refused; nor is a thread without a budget; nor is tw_mutex_lock.
 *
 * All functions may be called from any thread. Pointers must be live. Undefined: to unlock what the
 * thread has not locked, and to free what another thread is in a call of, its unlocking included.
 * Freeing a mutex that is held or waited for, or a condvar that is waited at, aborts with a message
 * where it can be seen. Builds of the library with debug assertions abort, naming the locks, when a
 * thread locks twice or two locks are taken in both orders.
 *
 * Link with libtailwater_sync_c.a (and -lpthread -ldl -lm) or libtailwater_sync_c.so.
 */
#ifndef TAILWATER_SYNC_H
#define TAILWATER_SYNC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Answers. */
enum { TW_ACQUIRED = 0, TW_REFUSED = 1 };

/* Why it was refused. On entry waited_ns is 0; after giving up in the queue the other two are. */
typedef struct tw_refused {
    uint64_t oldest_wait_ns; /* how long the oldest waiter had waited */
    uint64_t left_ns;        /* what was left of the budget */
    uint64_t waited_ns;      /* how long this thread waited, deducted already */
} tw_refused;

typedef struct tw_mutex tw_mutex;
typedef struct tw_condvar tw_condvar;

/* A mutex. Its name, copied, is what reports call it; locks of one name are counted as one; NULL for
 * none. Never NULL: out of memory aborts. tw_mutex_free(NULL) does nothing. */
tw_mutex *tw_mutex_new(const char *name);
void tw_mutex_free(tw_mutex *mutex);

/* Waits for as long as it takes. */
void tw_mutex_lock(const tw_mutex *mutex);
/* TW_ACQUIRED, or TW_REFUSED and, if why is not NULL, the reason. */
int tw_mutex_lock_within_budget(const tw_mutex *mutex, tw_refused *why);
/* TW_ACQUIRED if it was free, TW_REFUSED if not; never waits. */
int tw_mutex_trylock(const tw_mutex *mutex);
void tw_mutex_unlock(const tw_mutex *mutex);

/* A condition variable; always wait in a loop that tests the condition. */
tw_condvar *tw_condvar_new(const char *name);
void tw_condvar_free(tw_condvar *condvar);

/* Unlocks the mutex, which the thread holds, waits for a notification, and locks it again. */
void tw_condvar_wait(const tw_condvar *condvar, const tw_mutex *mutex);
/* The same within the budget. The mutex is locked again in any case; getting it back is not refused. */
int tw_condvar_wait_within_budget(const tw_condvar *condvar, const tw_mutex *mutex, tw_refused *why);
void tw_condvar_notify_one(const tw_condvar *condvar);
void tw_condvar_notify_all(const tw_condvar *condvar);

/* The budget of this thread's request, in nanoseconds. Other threads do not inherit it. */
void tw_budget_set(uint64_t left_ns);
/* Outside of any request: nothing is refused. How every thread begins. */
void tw_budget_clear(void);
/* 1, and what is left in *left_ns unless that is NULL; or 0 without a budget. */
int tw_budget_get(uint64_t *left_ns);
/* Deducts what the request waited elsewhere on this server, such as in a run queue. */
void tw_budget_deduct(uint64_t waited_ns);

#ifdef __cplusplus
}
#endif

#endif
