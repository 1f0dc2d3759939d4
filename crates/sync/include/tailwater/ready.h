/* Ready sets: which of up to 262,144 queues have work, found in nearly constant time.
 *
 * The queues are the program's own, of any kind; a set knows their numbers only, from 0. Two rules:
 *
 * 1. Push, then ring. The bell rings after the item is in the queue, never before. How the queue orders its
 *    memory does not matter to the set.
 * 2. Visit until it is empty, or say so. After a number was handed out its queue is looked at until it is empty.
 *    A visit that leaves items behind ends with tw_ready_again.
 *
 * A number is a hint: its queue may turn out to be empty, at most once for each ring. No item is missed.
 *
 * tw_ready_ring may be called from any thread, at any time between new and free. All other functions of a set are
 * its consumer's: one thread at a time. A queue's number that is not below the set's aborts with a message, but for
 * tw_shared_ready_ring.
 *
 * Link with libtailwater_sync_c.a (and -lpthread -ldl -lm) or libtailwater_sync_c.so.
 */
#ifndef TAILWATER_READY_H
#define TAILWATER_READY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_ready tw_ready;

/* Which ready queue is next. */
enum {
    /* Each in its turn. No shares. */
    TW_READY_ROUND_ROBIN = 0,
    /* In its turn, as many visits in a row as its weight. A share for each queue, from 1 to 65535. */
    TW_READY_WEIGHTED = 1,
    /* The lowest number first; others may starve. No shares. */
    TW_READY_STRICT = 2,
    /* The lowest number first, and after so many visits one by turn. One share, that number. */
    TW_READY_AGED = 3,
    /* In its turn, by what visits cost (tw_ready_charge). A share for each queue, its quantum, from 1. */
    TW_READY_DEFICIT = 4
};

/* What tw_ready_take and tw_ready_wait answer where no queue is ready. */
#define TW_READY_NONE UINT32_MAX

/* A set of 1 to 262144 queues. The shares are copied; NULL where the policy has none. NULL for a number, a policy
 * or a share out of range, or lacking shares. Out of memory aborts. tw_ready_free(NULL) does nothing. */
tw_ready *tw_ready_new(uint32_t queues, int policy, const uint32_t *shares);
void tw_ready_free(tw_ready *set);

/* Something was pushed into this queue. 1 if that woke the consumer, otherwise 0. Does not wait for the consumer; waking
 * costs a mutex, held for a few instructions on either side, and a system call. */
int tw_ready_ring(const tw_ready *set, uint32_t queue);

/* A ready queue, or TW_READY_NONE at once. */
uint32_t tw_ready_take(tw_ready *set);
/* Waits for one, for a few microseconds looking on and then asleep; TW_READY_NONE after so long. UINT64_MAX waits for
 * as long as it takes. */
uint32_t tw_ready_wait(tw_ready *set, uint64_t at_most_ns);
/* The queue that was handed out has more. */
void tw_ready_again(tw_ready *set, uint32_t queue);
/* What the visit cost, in the unit of the quanta; each visit costs 1 beside it. For TW_READY_DEFICIT. */
void tw_ready_charge(tw_ready *set, uint32_t queue, uint32_t cost);

/* A file descriptor for epoll, poll and select: after tw_ready_arm it becomes readable once a queue is ready. Do not
 * read from it or close it. Where the process has no room for another: an errno number, negated, such as -EMFILE. The
 * variable errno stays as it is. */
int tw_ready_fd(tw_ready *set);
/* Call it before each sleep in an event loop. 1: nothing is ready, sleep. 0: a queue is ready, take it first. Negative as
 * tw_ready_fd. The next tw_ready_take ends what it prepared. */
int tw_ready_arm(tw_ready *set);

/* A set that several processes share. It lies in a nameless file (memfd), whose descriptor they pass each other by
 * inheritance or over a Unix socket. Any of them rings, one at a time consumes; each may be killed at any moment.
 *
 * What tw_shared_ready_ring announced before it returned is visited, whoever dies. A process that takes a dead
 * producer's queues over rings each of them once, for what was pushed and not announced.
 *
 * Bytes that others write do no harm to memory. A hostile process can ring for nothing, hide rings of others, and keep
 * the consumer asleep: give producers that do not trust each other a set each.
 *
 * tw_shared_ready_ring, tw_shared_ready_fd and tw_shared_ready_queues may be called from any thread. The other functions
 * are the consumer's: one thread at a time. What they do is as above. */
typedef struct tw_shared_ready tw_shared_ready;

/* A new set of 1 to 262144 queues, or that of a file, which stays the caller's. NULL where there is none; `error`, if
 * not NULL, then has EINVAL (the number of queues), EBADMSG (no ready set, or damaged), EPROTO (one of another version),
 * or what the system said. Whoever made the file chose how many queues it has: tw_shared_ready_open takes the number
 * that is expected, and another one is EBADMSG; 0 opens any. */
tw_shared_ready *tw_shared_ready_create(uint32_t queues, int *error);
tw_shared_ready *tw_shared_ready_open(int fd, uint32_t queues, int *error);
/* Ends the consumer, too. NULL does nothing. */
void tw_shared_ready_free(tw_shared_ready *set);
/* The file, to pass on; it closes with the set, and on exec unless it is copied by dup. */
int tw_shared_ready_fd(const tw_shared_ready *set);
/* How many queues it has. The number does not change while the set is open. */
uint32_t tw_shared_ready_queues(const tw_shared_ready *set);
/* 1 if the consumer slept and was woken, otherwise 0. -EINVAL where there is no such queue. */
int tw_shared_ready_ring(const tw_shared_ready *set, uint32_t queue);

/* Makes this process the consumer; all queues are ready at first. Before it sleeps it looks on for so long. 0, or
 * negative: -EBUSY while there is another consumer, -EINVAL for policy or shares, or what the system said. `count` is how
 * many shares there are. It must be what the policy has for tw_shared_ready_queues, and is 0 where the policy has none;
 * else it is -EINVAL, and no share is read. Before this the four below abort with a message. A child by fork that does not
 * exec keeps the place until it ends, too.
 *
 * Turns begin at a random queue, so that an item which ends each consumer at its visit starves no other queue for ever.
 * TW_READY_STRICT and TW_READY_AGED begin at the lowest number all the same. */
int tw_shared_ready_consume(tw_shared_ready *set, int policy, const uint32_t *shares, uint32_t count, uint64_t spin_ns);
uint32_t tw_shared_ready_take(tw_shared_ready *set);
uint32_t tw_shared_ready_wait(tw_shared_ready *set, uint64_t at_most_ns);
void tw_shared_ready_again(tw_shared_ready *set, uint32_t queue);
void tw_shared_ready_charge(tw_shared_ready *set, uint32_t queue, uint32_t cost);

#ifdef __cplusplus
}
#endif

#endif
