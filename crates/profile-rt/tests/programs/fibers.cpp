// Fibers that nobody announces. Each function looks at its thread's frames and finds its own on top, with those
// of its fiber below and no others, whatever ran in between.
#include "tailwater/profile.h"
#include "tailwater/profile_abi.h"
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define QUIET TW_PROFILE_SKIP __attribute__((noinline))

namespace {

volatile unsigned sink;
volatile bool for_ever = true;
/// A handler that comes while a function pushes its frame leaves its own name there.
volatile bool names_are_sure = true;

QUIET void wrong(const char *function, unsigned line, const char *what, unsigned long found) {
    printf("%s, line %u: found %s %lu\n", function, line, what, found);
    exit(1);
}

/// `function` is on top, with `depth` frames in all.
QUIET void look(const char *function, unsigned depth, unsigned line) {
    const tw_context *context = tw_profile_context;
    unsigned long frames = (context->position - context->base) / sizeof(tw_entry);
    if (frames != depth)
        wrong(function, line, "depth", frames);
    const tw_entry *top = reinterpret_cast<const tw_entry *>(context->position) - 1;
    if (names_are_sure && !strstr(tw_desc_of(top->what)->name, function))
        wrong(tw_desc_of(top->what)->name, line, "on top, not what looked, at depth", frames);
    for (unsigned at = 1; at < depth; at++)
        if (top[-(long)at].generation >= top[1 - (long)at].generation)
            wrong(function, line, "a younger frame below", at);
}
// No function ends in a call, which would take its frame.
#define LOOK(depth) (look(__func__, depth, __LINE__), sink++)

// ---- a switch that no library announces: nothing but another stack pointer ----

#if defined(__x86_64__)
extern "C" void hop(void **from, void *to);
asm(".text\n.globl hop\n.type hop,@function\nhop:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size hop,.-hop\n");

struct Fiber {
    char *stack;
    size_t size;
    void *at;

    QUIET void begin(void (*function)()) {
        auto words = reinterpret_cast<uint64_t *>(stack + size);
        words[-1] = 0;
        words[-2] = reinterpret_cast<uint64_t>(function);
        at = words - 8;
    }
};
#else
struct Fiber {
    char *stack;
    size_t size;
    ucontext_t *at;

    QUIET void begin(void (*function)()) {
        at = new ucontext_t;
        getcontext(at);
        at->uc_stack.ss_sp = stack;
        at->uc_stack.ss_size = size;
        makecontext(at, function, 0);
    }
};
QUIET void hop(ucontext_t **from, ucontext_t *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, to);
}
#endif

/// One piece of memory, so that stacks lie side by side.
constexpr size_t Fibers = 4, Size = 128 << 10;
Fiber fibers[Fibers];
Fiber home;

QUIET void all_begin(void (*function)()) {
    static char *stacks;
    if (!stacks)
        stacks = static_cast<char *>(aligned_alloc(4096, Fibers * Size));
    for (size_t at = 0; at < Fibers; at++) {
        fibers[at].stack = stacks + at * Size;
        fibers[at].size = Size;
        fibers[at].begin(function);
    }
}

/// Leaves frames of its own, and is called by code with frames.
APART void go(Fiber &from, Fiber &to, unsigned depth) {
    LOOK(depth);
    hop(&from.at, to.at);
    LOOK(depth);
    sink++;
}

// ---- in turn: each goes on in the middle of its functions ----

unsigned turn;

APART void inner(unsigned mine) {
    LOOK(3);
    go(fibers[mine], home, 4);
    LOOK(3);
}
APART void outer(unsigned mine) {
    while (for_ever) {
        LOOK(2);
        inner(mine);
    }
}
APART void in_turn() {
    LOOK(1);
    outer(turn);
    sink++;
}

APART void take_turns() {
    LOOK(2);
    all_begin(in_turn);
    for (unsigned round = 0; round < 100; round++)
        for (turn = 0; turn < Fibers; turn++) {
            go(home, fibers[turn], 3);
            LOOK(2);
        }
}

// ---- down the row: each begins the next, whose stack lies right below its own ----

APART void down_the_row() {
    unsigned mine = turn;
    LOOK(1);
    if (mine == 0)
        hop(&fibers[0].at, home.at);
    else
        hop(&fibers[mine].at, fibers[turn = mine - 1].at);
    LOOK(1);
    go(fibers[mine], mine + 1 < Fibers ? fibers[mine + 1] : home, 2);
    sink++;
}

APART void row() {
    LOOK(2);
    all_begin(down_the_row);
    turn = Fibers - 1;
    go(home, fibers[turn], 3);
    go(home, fibers[0], 3);
    LOOK(2);
}

// ---- quiet: what switches and what goes on has no frames, and calls what has ----

APART void work(unsigned depth) {
    LOOK(depth);
    sink++;
}
QUIET void quiet_loop(unsigned mine, unsigned depth) {
    for (unsigned round = 0; round < 5; round++) {
        work(depth);
        hop(&fibers[mine].at, home.at);
        work(depth);
    }
}
APART void partly_quiet(unsigned mine) {
    LOOK(1);
    quiet_loop(mine, 2);
    LOOK(1);
}
QUIET void quiet() {
    unsigned mine = turn;
    while (for_ever) {
        quiet_loop(mine, 1);
        partly_quiet(mine);
    }
}
QUIET void quiet_turns() {
    for (unsigned round = 0; round < 40; round++)
        for (turn = 0; turn < Fibers; turn++) {
            hop(&home.at, fibers[turn].at);
            work(3);
        }
}
APART void quietly() {
    LOOK(2);
    all_begin(quiet);
    quiet_turns();
    LOOK(2);
}

// ---- deep: a stack is known as far down as it has been used ----

APART unsigned dive(unsigned depth, unsigned to) {
    char room[200];
    memset(room, (int)depth, sizeof room);
    LOOK(depth);
    unsigned below = depth < to ? dive(depth + 1, to) : 0;
    if (depth == to)
        go(fibers[0], home, depth + 1);
    LOOK(depth);
    return below + (unsigned char)room[depth % sizeof room];
}
APART void deep() {
    LOOK(1);
    sink = dive(2, 150);
    while (for_ever)
        go(fibers[0], home, 2);
}
APART void dive_and_return() {
    LOOK(2);
    all_begin(deep);
    go(home, fibers[0], 3);
    go(home, fibers[0], 3);
    LOOK(2);
}

// ---- again: an abandoned fiber's stack is another's ----

APART void abandon(unsigned depth) {
    LOOK(depth);
    if (depth < 7)
        abandon(depth + 1);
    else
        go(fibers[1], home, depth + 1);
    sink++;
}
APART void abandoned() {
    LOOK(1);
    abandon(2);
    sink++;
}
QUIET void abandoned_quietly() {
    abandon(1);
    sink++;
}
APART void again() {
    LOOK(2);
    for (unsigned round = 0; round < 10; round++) {
        all_begin(round % 2 ? abandoned : abandoned_quietly);
        go(home, fibers[1], 3);
        LOOK(2);
    }
}

// ---- shifted: an abandoned fiber's memory is part of another's stack, which begins elsewhere ----

APART void shifted() {
    LOOK(2);
    static char memory[4 * Size];
    unsigned random = 1;
    for (unsigned round = 0; round < 200; round++) {
        random = random * 1664525u + 1013904223u;
        fibers[1].stack = memory + (random >> 16) % (3 * Size) / 16 * 16;
        fibers[1].size = Size;
        fibers[1].begin(random % 2 ? abandoned : abandoned_quietly);
        go(home, fibers[1], 3);
        LOOK(2);
    }
}

// ---- thrown: exceptions pass frames, after other fibers ran ----

struct Passes {
    ~Passes() { sink++; }
};
APART void thrower(unsigned depth) {
    Passes passes;
    LOOK(depth);
    go(fibers[2], home, depth + 1);
    if (depth == 5)
        throw std::runtime_error("on the way");
    thrower(depth + 1);
    sink++;
}
APART void throwing() {
    while (for_ever) {
        LOOK(1);
        try {
            thrower(2);
        } catch (const std::runtime_error &) {
            LOOK(1);
            go(fibers[2], home, 2);
        }
    }
}
APART void thrown() {
    LOOK(2);
    all_begin(throwing);
    for (unsigned round = 0; round < 40; round++)
        go(home, fibers[2], 3);
    LOOK(2);
}

// ---- jumps ----

jmp_buf back;
APART void jumper(unsigned depth) {
    LOOK(depth);
    go(fibers[3], home, depth + 1);
    if (depth == 6)
        longjmp(back, 1);
    jumper(depth + 1);
    sink++;
}
APART void jumping() {
    while (for_ever) {
        if (setjmp(back) == 0)
            jumper(2);
        LOOK(1);
        go(fibers[3], home, 2);
    }
}
APART void jumps() {
    LOOK(2);
    all_begin(jumping);
    for (unsigned round = 0; round < 40; round++)
        go(home, fibers[3], 3);
    LOOK(2);
}

// ---- signals, on a stack of their own and without ----

unsigned expected;
APART void deeper_in_handler() { LOOK(expected + 1); }
APART void handler(int) {
    LOOK(expected);
    deeper_in_handler();
    LOOK(expected);
}
APART void raising(unsigned depth) {
    LOOK(depth);
    expected = depth + 1;
    for (unsigned round = 0; round < 3; round++) {
        raise(SIGUSR1);
        LOOK(depth);
        raise(SIGUSR2);
        LOOK(depth);
    }
}
APART void interrupted() {
    while (for_ever) {
        LOOK(1);
        raising(2);
        go(fibers[0], home, 2);
    }
}
APART void signals() {
    LOOK(2);
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, nullptr);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    static char space[64 << 10];
    stack_t stack = {space, 0, sizeof space};
    sigaltstack(&stack, nullptr);
    all_begin(interrupted);
    for (unsigned round = 0; round < 5; round++) {
        go(home, fibers[0], 3);
        raising(3);
    }
    LOOK(2);
}

// ---- alarms: handlers on a stack of their own come at any time ----

APART void count_alarm() { sink++; }
APART void alarmed(int) { count_alarm(); }
APART void alarms() {
    LOOK(2);
    names_are_sure = false;
    struct sigaction action = {};
    action.sa_handler = alarmed;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, nullptr);
    all_begin(in_turn);
    for (unsigned round = 0; round < 200000; round++)
        for (turn = 0; turn < Fibers; turn++)
            go(home, fibers[turn], 3);
    often = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    names_are_sure = true;
    LOOK(2);
}

// ---- forked: the child goes on in the middle of a fiber, with all others ----

APART void forks(unsigned depth) {
    LOOK(depth);
    pid_t child = fork();
    LOOK(depth);
    if (child == 0) {
        go(fibers[turn], home, depth + 1);
        _exit(3);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        wrong("a fork's child", __LINE__, "status", (unsigned)status);
}
APART void forking() {
    pid_t parent = getpid();
    while (for_ever) {
        LOOK(1);
        forks(2);
        go(fibers[turn], home, 2);
        if (getpid() != parent)
            _exit(4);
    }
}
APART void forked() {
    LOOK(2);
    all_begin(forking);
    pid_t parent = getpid();
    for (turn = 0; turn < Fibers; turn++) {
        go(home, fibers[turn], 3);
        LOOK(2);
        if (getpid() != parent)
            _exit(0);
    }
}

// ---- other threads: fibers go on where somebody resumes them ----

APART void resume_all(unsigned depth) {
    LOOK(depth);
    for (turn = 0; turn < Fibers; turn++)
        go(home, fibers[turn], depth + 1);
}
APART void *somewhere_else(void *) {
    LOOK(1);
    resume_all(2);
    LOOK(1);
    return nullptr;
}
APART void on_threads() {
    LOOK(2);
    all_begin(in_turn);
    resume_all(3);
    for (unsigned round = 0; round < 20; round++) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, somewhere_else, nullptr))
            exit(2);
        pthread_join(thread, nullptr);
        resume_all(3);
    }
}

// ---- contexts of the C library ----

ucontext_t from, away;
APART void in_context() {
    while (for_ever) {
        LOOK(1);
        swapcontext(&away, &from);
    }
}
APART void contexts() {
    getcontext(&away);
    away.uc_stack.ss_sp = fibers[0].stack;
    away.uc_stack.ss_size = Size;
    makecontext(&away, in_context, 0);
    for (unsigned round = 0; round < 20; round++) {
        LOOK(2);
        swapcontext(&from, &away);
        LOOK(2);
    }
}

// ---- a crowd: more stacks than there are places; what has none runs unrecorded, and harms nobody ----

Fiber *crowd;
APART void step_aside(unsigned mine) {
    hop(&crowd[mine].at, home.at);
    sink++;
}
APART void one_of_many() {
    unsigned mine = turn;
    while (for_ever)
        step_aside(mine);
}
QUIET void crowds(unsigned count) {
    constexpr size_t small = 16 << 10;
    auto stacks = static_cast<char *>(mmap(nullptr, count * small, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    crowd = new Fiber[count];
    for (unsigned at = 0; at < count; at++) {
        crowd[at].stack = stacks + at * small;
        crowd[at].size = small;
        crowd[at].begin(one_of_many);
    }
    for (unsigned round = 0; round < 2; round++)
        for (turn = 0; turn < count; turn++)
            hop(&home.at, crowd[turn].at);
}
APART void crowded() {
    LOOK(2);
    crowds(5000);
    LOOK(2);
}

} // namespace

// `crowd`, or how often all else is to happen.
int main(int count, char **arguments) {
    LOOK(1);
    if (count != 2)
        return 2;
    if (!strcmp(arguments[1], "crowd")) {
        crowded();
    } else {
        long rounds = atol(arguments[1]);
        if (rounds <= 0)
            return 2;
        for (; rounds > 0; rounds--) {
            take_turns();
            row();
            quietly();
            dive_and_return();
            again();
            shifted();
            thrown();
            jumps();
            signals();
            alarms();
            forked();
            on_threads();
            contexts();
        }
    }
    LOOK(1);
    puts("all frames where they should be");
    return 0;
}
