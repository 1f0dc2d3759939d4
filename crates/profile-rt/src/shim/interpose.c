/* The program's waits. Each wrapper tries first, so that a free lock costs a try and a note of who
 * took it; only who has to wait looks at the clock. Events are written after the lock is let go.
 *
 * The real functions are found behind these by dlsym. In a static program there is no such thing:
 * there glibc's own names for them are taken, and the link must ask for those, since nothing else may
 * bring them in: -Wl,-u,___pthread_X (three underscores) for each X below. A call that finds none
 * ends the program with a message. */
#define _GNU_SOURCE
#include "shim.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Who took a lock last, by the lock's address; where two meet, the later one wins. `what` is as in a
 * frame: in which function, and where in it. */
struct hold {
    uint64_t object, what;
    uint32_t tid;
} __attribute__((aligned(32)));
#define HOLDS 4096u
static struct hold holds[HOLDS];

#define LOAD(from) __atomic_load_n(&(from), __ATOMIC_RELAXED)
#define STORE(to, value) __atomic_store_n(&(to), value, __ATOMIC_RELAXED)

static struct hold *hold_of(uint64_t object) {
    return &holds[(object * 0x9e3779b97f4a7c15u >> 52) % HOLDS];
}

static uint32_t shortest(void) { return (uint32_t)LOAD(*LOAD(tw_shim_recording)); }

/* The recorder that says so. */
static uint32_t recorder(void) { return (uint32_t)(LOAD(*LOAD(tw_shim_recording)) >> 32); }

/* A recorder in another process may have died, and only threads of this one find out: each asks now and then. */
static int recording(void) {
    static __thread uint8_t since;
    if (!shortest())
        return 0;
    return ++since || tw_rt_is_recording();
}

/* The innermost instrumented function of this thread; zero where there is none. */
static uint64_t innermost(const struct tw_context *context) {
    uint64_t position = context->position;
    return position > context->base && context->limit
               ? (uint64_t)tw_desc_of(((const struct tw_entry *)position)[-1].what) : 0;
}

static void took(const void *lock, const void *site) {
    const struct tw_context *context = tw_shim_settled();
    struct hold *hold = hold_of((uint64_t)lock);
    STORE(hold->object, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    uint64_t function = innermost(context);
    STORE(hold->what, function ? function | (uint64_t)site << TW_SITE_SHIFT : 0);
    STORE(hold->tid, context->limit ? context->tid : 0);
    __atomic_store_n(&hold->object, (uint64_t)lock, __ATOMIC_RELEASE);
}

/* Counts libraries that went: what a note names may have been replaced. */
static uint32_t libraries_gone;

struct wait {
    uint64_t object, start, site, held_in;
    uint32_t kind, holder, gone, recorder;
};

/* `owner` is what the lock itself says of its holder; zero where it says nothing. */
static struct wait begin(uint32_t kind, const void *object, uint32_t owner, void *site) {
    /* The time comes first: what the note below names was still there by then. */
    struct wait wait = {(uint64_t)object, tw_shim_ticks(), (uint64_t)site, 0, kind, owner,
                        LOAD(libraries_gone), recorder()};
    const struct hold *hold = hold_of(wait.object);
    if (__atomic_load_n(&hold->object, __ATOMIC_ACQUIRE) == wait.object) {
        uint32_t tid = LOAD(hold->tid);
        uint64_t what = LOAD(hold->what);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        /* A note by another than the owner is that of the one before. */
        if (LOAD(hold->object) == wait.object && tid && (!owner || owner == tid)) {
            wait.holder = tid;
            wait.held_in = what;
        }
    }
    return wait;
}

/* The owner may have had the lock before it made its note; by now that is there, and this thread's own is
 * not yet. */
static void ask_again(struct wait *wait) {
    const struct hold *hold = hold_of(wait->object);
    if (!wait->held_in && wait->holder && LOAD(hold->object) == wait->object &&
        LOAD(hold->tid) == wait->holder && LOAD(libraries_gone) == wait->gone)
        wait->held_in = LOAD(hold->what);
}

/* Whether it was long enough to be told. `has_lock`: it ended with a lock, which is let go later. */
static int over(const struct wait *wait, int has_lock) {
    uint64_t end = tw_shim_ticks();
    uint32_t wanted = shortest();
    /* What began in one recording is none of the next. */
    if (!wanted || end - wait->start < wanted || wait->recorder != recorder())
        return 0;
    tw_rt_waited(wait->kind, wait->object, wait->start, end, wait->site, wait->holder, wait->held_in,
                 (uint32_t)has_lock);
    return 1;
}

/* The lock was had without a wait that is told. Where holds are recorded, it is kept as a wait of no length until it is let go. */
static void holds_now(uint32_t kind, const void *lock, const void *site) {
    if ((uint32_t)LOAD(*LOAD(tw_shim_holds))) {
        uint64_t now = tw_shim_ticks();
        tw_rt_waited(kind, (uint64_t)lock, now, now, (uint64_t)site, 0, 0, 1);
    }
}

static void took_at_once(uint32_t kind, const void *lock, const void *site) {
    took(lock, site);
    holds_now(kind, lock, site);
}

/* The notes forget the functions of a library that goes: another may come to lie in its place. The
 * recorder may be at work although nothing is recorded any more: it says itself whether it is. */
void tw_profile_library_gone(const struct tw_desc *from, const struct tw_desc *to) {
    __atomic_fetch_add(&libraries_gone, 1, __ATOMIC_RELAXED);
    for (unsigned at = 0; at < HOLDS; at++) {
        uint64_t what = LOAD(holds[at].what);
        if (tw_desc_of(what) >= from && tw_desc_of(what) < to)
            __atomic_compare_exchange_n(&holds[at].what, &what, 0, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
    }
    /* It sleeps, and a thread that were cancelled in that would keep the dynamic linker's lock. */
    int cancelled;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
    tw_rt_library_gone((uint64_t)from, (uint64_t)to);
    pthread_setcancelstate(cancelled, NULL);
}

/* Before a lock is let go: waking who waits for it takes longer than many locks are held. Zero where nobody asks. */
static uint64_t lets_go(void) {
    /* Which are pending is known of the stack that this is. */
    if (shortest())
        tw_shim_settled();
    return tw_shim_pending ? tw_shim_ticks() : 0;
}

static void let_go(const void *lock, uint64_t at) {
    if (at)
        tw_rt_released((uint64_t)lock, at);
}

static void *missing(const char *name) {
    static const char head[] = "tailwater: found no real ", tail[] = " behind the profiler's; link "
        "a static program with -Wl,-u,___ and that name\n";
    size_t length = 0;
    while (name[length])
        length++;
    if (write(2, head, sizeof head - 1) < 0 || write(2, name, length) < 0 ||
        write(2, tail, sizeof tail - 1) < 0)
        abort();
    abort();
}

/* `real_NAME()` is libc's NAME, or a sanitizer's: that has to know who took a lock and which thread was joined. Looking
 * it up twice does no harm. */
#define REAL(name)                                                                          \
    extern __typeof__(name) ___##name __attribute__((weak));                                \
    extern __typeof__(name) __interceptor_##name __attribute__((weak));                     \
    static __typeof__(name) *real_##name(void) {                                            \
        static __typeof__(name) *known;                                                     \
        __typeof__(name) *real = LOAD(known);                                               \
        if (__builtin_expect(!real, 0)) {                                                   \
            real = __interceptor_##name;                                                    \
            if (!real)                                                                      \
                real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                         \
            if (!real)                                                                      \
                real = ___##name ? ___##name : (__typeof__(name) *)missing(#name);          \
            STORE(known, real);                                                             \
        }                                                                                   \
        return real;                                                                        \
    }

REAL(pthread_mutex_lock)
REAL(pthread_mutex_trylock)
REAL(pthread_mutex_timedlock)
REAL(pthread_mutex_clocklock)
REAL(pthread_mutex_unlock)
REAL(pthread_rwlock_rdlock)
REAL(pthread_rwlock_tryrdlock)
REAL(pthread_rwlock_timedrdlock)
REAL(pthread_rwlock_clockrdlock)
REAL(pthread_rwlock_wrlock)
REAL(pthread_rwlock_trywrlock)
REAL(pthread_rwlock_timedwrlock)
REAL(pthread_rwlock_clockwrlock)
REAL(pthread_rwlock_unlock)
REAL(pthread_cond_wait)
REAL(pthread_cond_timedwait)
REAL(pthread_cond_clockwait)
REAL(pthread_join)

/* A lock's owner died holding it: it is taken all the same. */
static int taken(int result) { return result == 0 || result == EOWNERDEAD; }

#define SITE __builtin_extract_return_addr(__builtin_return_address(0))
/* The body of a function that takes `lock` by `real` where `try` finds it held. */
#define TAKE(kind, lock, owner, try, real)                                                  \
    int result = (try);                                                                     \
    if (result == EBUSY) {                                                                  \
        struct wait wait = begin(kind, lock, (uint32_t)(owner), SITE);                      \
        result = (real);                                                                    \
        if (taken(result)) {                                                                \
            ask_again(&wait);                                                               \
            took(lock, SITE);                                                               \
        }                                                                                   \
        if (!over(&wait, taken(result)) && taken(result))                                   \
            holds_now(kind, lock, SITE);                                                    \
    } else if (taken(result)) {                                                             \
        took_at_once(kind, lock, SITE);                                                     \
    }                                                                                       \
    return result

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!recording())
        return real_pthread_mutex_lock()(mutex);
    TAKE(TW_WAIT_MUTEX, mutex, LOAD(mutex->__data.__owner), real_pthread_mutex_trylock()(mutex),
         real_pthread_mutex_lock()(mutex));
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    if (!recording())
        return real_pthread_mutex_timedlock()(mutex, until);
    TAKE(TW_WAIT_MUTEX, mutex, LOAD(mutex->__data.__owner), real_pthread_mutex_trylock()(mutex),
         real_pthread_mutex_timedlock()(mutex, until));
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    if (!recording())
        return real_pthread_mutex_clocklock()(mutex, clock, until);
    TAKE(TW_WAIT_MUTEX, mutex, LOAD(mutex->__data.__owner), real_pthread_mutex_trylock()(mutex),
         real_pthread_mutex_clocklock()(mutex, clock, until));
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    int result = real_pthread_mutex_trylock()(mutex);
    if (recording() && taken(result))
        took_at_once(TW_WAIT_MUTEX, mutex, SITE);
    return result;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    uint64_t at = lets_go();
    int result = real_pthread_mutex_unlock()(mutex);
    let_go(mutex, at);
    return result;
}

#define READER(lock) LOAD((lock)->__data.__cur_writer)
int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    if (!recording())
        return real_pthread_rwlock_rdlock()(lock);
    TAKE(TW_WAIT_READ, lock, READER(lock), real_pthread_rwlock_tryrdlock()(lock),
         real_pthread_rwlock_rdlock()(lock));
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until) {
    if (!recording())
        return real_pthread_rwlock_timedrdlock()(lock, until);
    TAKE(TW_WAIT_READ, lock, READER(lock), real_pthread_rwlock_tryrdlock()(lock),
         real_pthread_rwlock_timedrdlock()(lock, until));
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    if (!recording())
        return real_pthread_rwlock_clockrdlock()(lock, clock, until);
    TAKE(TW_WAIT_READ, lock, READER(lock), real_pthread_rwlock_tryrdlock()(lock),
         real_pthread_rwlock_clockrdlock()(lock, clock, until));
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    if (!recording())
        return real_pthread_rwlock_wrlock()(lock);
    TAKE(TW_WAIT_WRITE, lock, READER(lock), real_pthread_rwlock_trywrlock()(lock),
         real_pthread_rwlock_wrlock()(lock));
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until) {
    if (!recording())
        return real_pthread_rwlock_timedwrlock()(lock, until);
    TAKE(TW_WAIT_WRITE, lock, READER(lock), real_pthread_rwlock_trywrlock()(lock),
         real_pthread_rwlock_timedwrlock()(lock, until));
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    if (!recording())
        return real_pthread_rwlock_clockwrlock()(lock, clock, until);
    TAKE(TW_WAIT_WRITE, lock, READER(lock), real_pthread_rwlock_trywrlock()(lock),
         real_pthread_rwlock_clockwrlock()(lock, clock, until));
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) {
    int result = real_pthread_rwlock_tryrdlock()(lock);
    if (recording() && result == 0)
        took_at_once(TW_WAIT_READ, lock, SITE);
    return result;
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    int result = real_pthread_rwlock_trywrlock()(lock);
    if (recording() && result == 0)
        took_at_once(TW_WAIT_WRITE, lock, SITE);
    return result;
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    uint64_t at = lets_go();
    int result = real_pthread_rwlock_unlock()(lock);
    let_go(lock, at);
    return result;
}

/* Waiting gives the mutex away and takes it back, inside libc: taking it back counts as waiting. */
#define AWAIT(condition, mutex, real)                                                       \
    if (!recording())                                                                       \
        return (real);                                                                      \
    let_go(mutex, lets_go());                                                               \
    struct wait wait = {(uint64_t)(condition), tw_shim_ticks(), (uint64_t)SITE, 0,          \
                        TW_WAIT_CONDITION, 0, 0, recorder()};                               \
    int result = (real);                                                                    \
    took(mutex, SITE);                                                                      \
    over(&wait, 0);                                                                         \
    if (result == 0 || result == ETIMEDOUT || result == EOWNERDEAD)                         \
        holds_now(TW_WAIT_MUTEX, mutex, SITE);                                              \
    return result

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    AWAIT(condition, mutex, real_pthread_cond_wait()(condition, mutex));
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    AWAIT(condition, mutex, real_pthread_cond_timedwait()(condition, mutex, until));
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
    AWAIT(condition, mutex, real_pthread_cond_clockwait()(condition, mutex, clock, until));
}

int pthread_join(pthread_t thread, void **result_to) {
    if (!recording())
        return real_pthread_join()(thread, result_to);
    struct wait wait = {(uint64_t)thread, tw_shim_ticks(), (uint64_t)SITE, 0, TW_WAIT_JOIN, 0, 0,
                        recorder()};
    int result = real_pthread_join()(thread, result_to);
    over(&wait, 0);
    return result;
}

#ifdef __clang__
#pragma clang attribute pop
#endif
