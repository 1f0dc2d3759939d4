/* The ends of a process that `exit` does not see: `_exit`, `quick_exit` and signals. The recording is brought to
 * its end first, and then the process ends as it would have. */
#define _GNU_SOURCE
#include "shim.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sanitizers have these; what the program calls is to go by them still. */
extern __typeof__(_exit) __interceptor__exit __attribute__((weak));
extern __typeof__(sigaction) __interceptor_sigaction __attribute__((weak));
extern __typeof__(signal) __interceptor_signal __attribute__((weak));
/* The C library's other name for the real one, in static programs too. */
extern __typeof__(sigaction) __sigaction;

static int real_sigaction(int number, const struct sigaction *wanted, struct sigaction *before) {
    return (__interceptor_sigaction ? __interceptor_sigaction : __sigaction)(number, wanted, before);
}

/* This sleeps, and a thread that were cancelled in that would not end the process any more. */
static void cut_short(void) {
    int cancelled;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
    tw_rt_cut_short();
    pthread_setcancelstate(cancelled, NULL);
}

void _exit(int status) {
    /* Handlers that come while the trace is completed: without the recorder this thread were gone by now. */
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    cut_short();
    if (__interceptor__exit)
        __interceptor__exit(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

void _Exit(int status) __attribute__((alias("_exit")));

/* Faults, and what programs are ended by. Of the others that end a process few come unless it asks for them. */
static const int deadly[] = {SIGABRT, SIGBUS,  SIGFPE,  SIGHUP, SIGILL,  SIGINT,
                             SIGPIPE, SIGQUIT, SIGSEGV, SIGSYS, SIGTERM, SIGTRAP};
#define DEADLY (sizeof deadly / sizeof *deadly)
/* Set once a recording has begun. */
static int watching;

static int is_deadly(int number) {
    for (unsigned at = 0; at < DEADLY; at++)
        if (deadly[at] == number)
            return 1;
    return 0;
}

/* The instruction at fault is tried again when the handler returns, and the fault's own address is in the dump
 * of memory then. */
static int comes_again(int number, const siginfo_t *info) {
    return info->si_code > 0 &&
           (number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGSEGV);
}

static void dying(int number, siginfo_t *info, void *context) {
    int before = errno;
    struct sigaction as_ever = {.sa_handler = SIG_DFL};
    (void)context;
    cut_short();
    real_sigaction(number, &as_ever, NULL);
    /* It is blocked until this returns. */
    if (!comes_again(number, info))
        raise(number);
    errno = before;
}

static struct sigaction ours(void) {
    struct sigaction ours = {.sa_sigaction = dying, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    return ours;
}

/* The default action of deadly signals is ours, and the program is told that it is the default: Rust's library
 * takes a signal only if nobody has it, and handlers of faults put the default back and let the fault come again. */
int sigaction(int number, const struct sigaction *wanted, struct sigaction *before) {
    struct sigaction instead;
    if (wanted && wanted->sa_handler == SIG_DFL && is_deadly(number) &&
        __atomic_load_n(&watching, __ATOMIC_RELAXED)) {
        instead = ours();
        wanted = &instead;
    }
    int result = real_sigaction(number, wanted, before);
    if (!result && before && before->sa_flags & SA_SIGINFO && before->sa_sigaction == dying)
        *before = (struct sigaction){.sa_handler = SIG_DFL};
    return result;
}

/* The same by its older name: who is told a handler may call it, or set it again without SA_SIGINFO. `ssignal` is
 * the C library's other name for the real one. */
sighandler_t signal(int number, sighandler_t wanted) {
    if (wanted == SIG_DFL) {
        struct sigaction as_ever = {.sa_handler = SIG_DFL}, before;
        return sigaction(number, &as_ever, &before) ? SIG_ERR : before.sa_handler;
    }
    sighandler_t before = (__interceptor_signal ? __interceptor_signal : ssignal)(number, wanted);
    return before == ours().sa_handler ? SIG_DFL : before;
}

/* Once only, and not blocked meanwhile: what `signal` is in a program that asks for X/Open and no more. */
sighandler_t __sysv_signal(int number, sighandler_t wanted) {
    struct sigaction once = {.sa_handler = wanted, .sa_flags = SA_RESETHAND | SA_NODEFER}, before;
    if (wanted == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return sigaction(number, &once, &before) ? SIG_ERR : before.sa_handler;
}

/* What the program handles or ignores stays as it is. */
void tw_shim_watch_ends(void) {
    static int asked;
    const struct sigaction wanted = ours();
    if (!__atomic_exchange_n(&asked, 1, __ATOMIC_RELAXED))
        at_quick_exit(cut_short);
    __atomic_store_n(&watching, 1, __ATOMIC_RELAXED);
    for (unsigned at = 0; at < DEADLY; at++) {
        struct sigaction now;
        if (!real_sigaction(deadly[at], NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            real_sigaction(deadly[at], &wanted, NULL);
    }
}

#ifdef __clang__
#pragma clang attribute pop
#endif
