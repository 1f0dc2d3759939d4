/* The thread's context, and the moments of a process's life at which the runtime is called. */
#define _GNU_SOURCE
#include "shim.h"
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Threads start here, and end here. Frames of threads that cannot be registered are pushed on the
 * pad; many threads may write both, and nobody reads them. */
static struct {
    struct tw_context context;
    struct tw_entry pad;
} nobody;

__thread struct tw_context *tw_profile_context = &nobody.context;
/* 0 may be registered, 1 is being registered, 2 never will be (again). */
static __thread uint32_t stage;
/* The thread's own context, while it runs a fiber too; null while it has none. */
static __thread struct tw_context *own;
/* Fibers for which there was no room. */
static struct {
    struct tw_context context;
    struct tw_entry pad;
} spare;
__thread uint32_t tw_shim_pending;
/* Until the shared memory is there. */
static const uint64_t nothing;
const uint64_t *tw_shim_recording = &nothing;
const uint64_t *tw_shim_holds = &nothing;

static pthread_key_t thread_end;
static int has_key;

struct tw_context *tw_shim_context(void) { return tw_profile_context; }
uint64_t tw_shim_pad(void) { return (uint64_t)&nobody.pad; }
uint32_t *tw_shim_pending_at(void) { return &tw_shim_pending; }
/* This thread is in the runtime's slow path. */
static __thread int slow;

/* Where the runtime itself is instrumented (a Rust program built with link-time optimisation has it
 * in one piece with the rest), its slow path comes back here: that ends on a pad. */
uint64_t tw_shim_slow(void) {
    const struct tw_context *context = tw_profile_context;
    if (context == &spare.context)
        return (uint64_t)&spare.pad;
    if (slow || (stage != 0 && !context->limit))
        return context->limit ? context->limit : (uint64_t)&nobody.pad;
    slow = 1;
    uint64_t position = tw_rt_slow();
    slow = 0;
    return position;
}

/* Has the thread push nowhere, handlers of signals included. One that comes in between finds out by itself where
 * it runs, and leaves that behind. */
static void enter_slow(void) {
    tw_profile_context = &nobody.context;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    slow = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    tw_profile_context = &nobody.context;
}

/* Lets handlers of signals be recorded again, and only then has the thread push on `context`: a handler that
 * comes in between finds that out by itself. */
static void leave_slow(struct tw_context *context) {
    slow = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    tw_profile_context = context ? context : &nobody.context;
}

/* The same, of the machine stack at `stack`. Meanwhile the thread's context is nobody's: what is instrumented of
 * the runtime, and handlers of signals, would take it for that of the stack. */
uint64_t tw_shim_slow_on_stack(uint64_t stack) {
    struct tw_context *left = tw_profile_context;
    if (slow || (stage != 0 && left == &nobody.context))
        return left->limit ? left->limit : (uint64_t)&nobody.pad;
    enter_slow();
    struct tw_rt_place place = tw_rt_slow_on_stack(left, stack);
    leave_slow(place.context);
    return place.position;
}

/* A function that had pushed on `context` goes on. One that had been nobody's when it pushed stays that: whom
 * it calls finds out again. */
void tw_shim_back(struct tw_context *context) {
    struct tw_context *left = tw_profile_context;
    if (slow)
        return;
    enter_slow();
    tw_rt_back(left, context);
    leave_slow(context);
}

uint32_t tw_shim_stage(void) { return stage; }
void tw_shim_set_stage(uint32_t value) { stage = value; }

void tw_shim_set_own(struct tw_context *context) {
    own = context;
    if (context && has_key)
        pthread_setspecific(thread_end, context);
}

/* Where the context that this thread left last is not of the stack that it is on now, which is its own: that. So
 * it may be in code that is not built to find out. */
struct tw_context *tw_shim_settled(void) {
    uint64_t here = (uint64_t)__builtin_frame_address(0);
    if (own && own != tw_profile_context && here - own->stack_low < own->stack_extent)
        tw_shim_back(own);
    return tw_profile_context;
}

/* What this thread calls from now on is a fiber's, or its own again where that is null. */
void tw_shim_switch(struct tw_context *fiber) {
    tw_profile_context = fiber ? fiber : own ? own : &nobody.context;
}

struct tw_context *tw_shim_own(void) { return own; }

/* In a signal's handler that has a stack of its own. */
uint32_t tw_shim_on_signal_stack(void) {
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/* The word at `address`, which need not be mapped any more; all ones where it cannot be read. */
uint64_t tw_shim_word_at(uint64_t address) {
    uint64_t word;
    struct iovec to = {&word, sizeof word}, from = {(void *)address, sizeof word};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof word ? word : UINT64_MAX;
}

/* What a fork's child is to find. */
static __thread void *kept;

void **tw_shim_kept_at(void) { return &kept; }

/* The kernel leaves random bytes at the end of the first stack. */
uint64_t tw_shim_main_stack(void) { return getauxval(AT_RANDOM); }

/* The kernel's PROCMAP_QUERY, since Linux 6.11. */
struct mapping_query {
    uint64_t size, flags, address, start, end, vma_flags, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};

int tw_shim_ask_for_mapping(int maps, uint64_t address, uint64_t bounds[2]) {
    struct mapping_query query = {.size = sizeof query, .address = address};
    int failed = ioctl(maps, _IOWR('f', 17, struct mapping_query), &query);
    bounds[0] = query.start;
    bounds[1] = query.end;
    return failed;
}

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif
/* Where the kernel does not know it, all stays as it is. */
void tw_shim_keep_open(int number) {
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, (unsigned)number + 1, ~0u, CLOSE_RANGE_UNSHARE) && number > 0)
        syscall(SYS_close_range, 0u, (unsigned)number - 1, 0u);
#else
    (void)number;
#endif
}

uint64_t tw_shim_thread_pointer(void) { return (uint64_t)__builtin_thread_pointer(); }

struct tw_context *tw_shim_spare(void) { return &spare.context; }

void tw_shim_ask_at(const uint64_t *recording, const uint64_t *holds) {
    __atomic_store_n(&tw_shim_holds, holds, __ATOMIC_RELEASE);
    __atomic_store_n(&tw_shim_recording, recording, __ATOMIC_RELEASE);
}

/* The runtime's own threads are started with all signals blocked, so that the program's handlers
 * never run on them. */
void tw_shim_block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

void tw_shim_restore_signals(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }

/* As the kernel has it. Its own header cannot stand beside that of newer C libraries, which older ones have not. */
struct tw_scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice, deadline, period;
};

/* Asks for turns on the core of so many nanoseconds, for the calling thread, whose share stays what it is. Kernels before
 * 6.12 take no notice. */
void tw_shim_take_turns_of(uint64_t ns) {
    struct tw_scheduling its = {0};
    if (syscall(SYS_sched_getattr, 0, &its, sizeof its, 0) || (its.policy != SCHED_OTHER && its.policy != SCHED_BATCH))
        return;
    its.slice = ns;
    syscall(SYS_sched_setattr, 0, &its, 0);
}

/* Of sanitizers; here if there is one. */
extern void __tsan_ignore_thread_begin(void) __attribute__((weak));
extern void __tsan_ignore_thread_end(void) __attribute__((weak));

/* The calling thread's memory is none of a sanitizer's business: it sees calls of the allocator, and not the atomics by
 * which the recorder's threads hand memory over. */
void tw_shim_hide(uint32_t begins) {
    if (begins && __tsan_ignore_thread_begin)
        __tsan_ignore_thread_begin();
    if (!begins && __tsan_ignore_thread_end)
        __tsan_ignore_thread_end();
}

struct module {
    uint64_t start, end, bias;
    const char *path;
    const uint8_t *build_id;
    uint64_t build_id_length;
};
typedef void (*on_module)(void *to, const struct module *);
struct walk {
    on_module each;
    void *to;
};

static void find_build_id(const ElfW(Phdr) *header, uint64_t bias, struct module *found) {
    const uint8_t *at = (const uint8_t *)(bias + header->p_vaddr), *end = at + header->p_memsz;
    while (end - at >= (long)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const uint8_t *name = at + sizeof *note;
        const uint8_t *description = name + ((note->n_namesz + 3u) & ~3u);
        if (description + note->n_descsz > end)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            found->build_id = description;
            found->build_id_length = note->n_descsz;
            return;
        }
        at = description + ((note->n_descsz + 3u) & ~3u);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    struct walk *walk = data;
    struct module found = {UINT64_MAX, 0, info->dlpi_addr, info->dlpi_name, NULL, 0};
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            found.start = start < found.start ? start : found.start;
            found.end = end > found.end ? end : found.end;
        } else if (header->p_type == PT_NOTE && !found.build_id) {
            find_build_id(header, info->dlpi_addr, &found);
        }
    }
    if (found.start < found.end)
        walk->each(walk->to, &found);
    return 0;
}

/* Calls `each` for the program (its path is empty) and every library. */
void tw_shim_modules(on_module each, void *to) {
    struct walk walk = {each, to};
    dl_iterate_phdr(visit, &walk);
}

static void end_of_thread(void *context) {
    /* Should it end in the middle of a fiber. */
    tw_profile_context = context;
    tw_rt_thread_end();
}

/* The program may hold a copy of the runtime beside the one that its libraries brought. Calls by name
 * all go to the program's: whichever copy is loaded first, that one begins, and only once. */
void tw_shim_load(void) {
    static int loaded;
    if (loaded)
        return;
    loaded = 1;
    has_key = pthread_key_create(&thread_end, end_of_thread) == 0;
    /* An allocator that asks for forks too, as jemalloc does when it is first used, is to do so before us: then its
     * locks are free when we copy before a fork, and free again when we start a thread in the child. */
    void *volatile first = malloc(1);
    free(first);
    pthread_atfork(tw_rt_forks, tw_rt_has_forked, tw_rt_forked);
    tw_rt_load();
    atexit(tw_rt_exit);
}

/* Before the constructors of instrumented code, as far as one image can be. */
__attribute__((constructor(101))) static void load(void) {
    tw_shim_check_own();
    tw_shim_load();
}

#ifdef __clang__
#pragma clang attribute pop
#endif
