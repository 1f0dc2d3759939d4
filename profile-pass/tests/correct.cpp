// Everything that leaves a function, and whether the shadow stack follows. Prints what is wrong.

#include "depth.h"

#include <algorithm>
#include <alloca.h>
#include <csetjmp>
#include <coroutine>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

// In another file, compiled without the pass.
extern "C" int catches_quietly(void (*)());
// In another file, compiled with the pass; in a library that is opened, where one is named.
#ifdef LIBRARY
#include <dlfcn.h>
static NOINLINE int mutual_even(unsigned long n) {
    void *library = dlopen(LIBRARY, RTLD_NOW);
    void *found = library ? dlsym(library, "mutual_even") : nullptr;
    if (!found) {
        std::puts(dlerror());
        return -1;
    }
    return reinterpret_cast<int (*)(unsigned long)>(found)(n);
}
#else
extern "C" int mutual_even(unsigned long);
#endif

// Of each thread, lest they race for it.
static thread_local volatile int sink;

static NOINLINE void throws(int levels) {
    if (levels == 0)
        throw std::runtime_error("thrown");
    throws(levels - 1);
    sink = levels;
}

struct Cleanup {
    ~Cleanup() { sink = 1; }
};

static NOINLINE void cleans_up(int levels) {
    Cleanup each;
    long mine = depth();
    if (levels == 0)
        throws(3);
    cleans_up(levels - 1);
    check("after a call in a frame with a cleanup", depth(), mine);
}

static NOINLINE void catches(void (*step)(int)) {
    long mine = depth();
    try {
        step(10);
    } catch (const std::runtime_error &) {
        check("in a handler", depth(), mine);
    }
    check("after a handler", depth(), mine);
}

static NOINLINE void rethrows(int) {
    try {
        throws(4);
    } catch (...) {
        throw;
    }
}

/// Whoever catches has no frame, so nothing pops those that were unwound before this one returns.
static NOINLINE void is_caught_elsewhere() {
    sink = catches_quietly([] { throws(5); });
    check("its answer", sink, 1);
}

static NOINLINE void exceptions() {
    keeps("an exception through frames without landing pads", [] { catches(throws); });
    keeps("an exception through cleanups", [] { catches(cleans_up); });
    keeps("an exception that is thrown again", [] { catches(rethrows); });
    keeps("an exception out of libstdc++", [] {
        long mine = depth();
        try {
            sink = std::string("x").at(9);
        } catch (const std::out_of_range &) {
            check("in its handler", depth(), mine);
        }
    });
    keeps("a handler in code without frames", is_caught_elsewhere);
}

static jmp_buf target;

static NOINLINE void jumps(int levels) {
    if (levels == 0)
        longjmp(target, 7);
    jumps(levels - 1);
    sink = levels;
}

static NOINLINE void long_jumps() {
    long mine = depth();
    int result = setjmp(target);
    check("after setjmp", depth(), mine);
    if (result == 0)
        jumps(6);
}

#if !SANITIZED
static void *resume_at[5];

static NOINLINE void jumps_back(int odd) {
    if (odd & 1)
        __builtin_longjmp(resume_at, 1);
    sink = odd;
}

// Returns before it has called anything, a second time after it has.
static NOINLINE int leaves_early(int x) {
    if (__builtin_setjmp(resume_at))
        return 1;
    if (x == 0)
        return 0;
    jumps_back(x);
    return 2;
}

static NOINLINE void built_in_jumps() {
    long mine = depth();
    for (int x = 0; x < 100; x++) {
        sink = leaves_early(x);
        check("after a built-in longjmp", depth(), mine);
    }
}
#endif

// Some of its ways have a frame, which ends on edges to blocks that others reach without.
static NOINLINE int many_ways(int x, long mine) {
    int found = x;
    switch (x % 7) {
    case 0:
        return 1;
    case 1:
    case 2:
        check("in one way of many", depth(), mine + 1);
        if (x > 50)
            return 2;
        break;
    case 3:
        for (int i = 0; i < x; i++)
            found += sink;
        break;
    case 4:
        try {
            throws(x % 3);
        } catch (const std::runtime_error &) {
            check("in one way's handler", depth(), mine + 1);
            found--;
        }
        break;
    case 5:
        if (x < 0)
            throw std::runtime_error("never");
        break;
    default:
        break;
    }
    return found * 3;
}

static NOINLINE void ways() {
    long mine = depth();
    for (int x = 0; x < 100; x++) {
        sink = many_ways(x, mine);
        check("after one way of many", depth(), mine);
    }
}

static NOINLINE int sum(int count, ...) {
    va_list arguments;
    va_start(arguments, count);
    double total = 0;
    for (int i = 0; i < count; i++)
        total += i % 2 ? va_arg(arguments, double) : va_arg(arguments, int);
    va_end(arguments);
    return int(total);
}

struct Large {
    long words[20];
};

static NOINLINE Large returns_large(long x) {
    Large made{};
    made.words[19] = x;
    sink = int(x);
    return made;
}

static NOINLINE int variable_alloca(int bytes) {
    char *memory = static_cast<char *>(alloca(bytes));
    std::memset(memory, 1, bytes);
    return memory[bytes - 1] + int(depth());
}

static NOINLINE long recurses(long levels) {
    if (levels == 0)
        return depth();
    long deepest = recurses(levels - 1);
    sink = 1;
    return deepest;
}

static NOINLINE double wide(double a, double b, double c, float d, double e, double f, long g) {
    sink = int(g);
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

static NOINLINE void plain_calls() {
    keeps("varargs", [] { check("their sum", sum(4, 1, 2.5, 3, 4.5), 11); });
    keeps("a large result", [] { check("it", returns_large(5).words[19], 5); });
    keeps("a variable stack", [] { check("it", variable_alloca(3000) > 0, 1); });
    keeps("recursion", [] {
        long mine = depth();
        check("frames of a recursion", recurses(100) - mine, 101);
    });
    keeps("std::sort", [] {
        std::vector<int> values;
        for (unsigned i = 0; i < 5000; i++)
            values.push_back(int(i * 2654435761u));
        std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
    });
    keeps("mutual tail calls", [] { check("their answer", mutual_even(SANITIZED ? 1000 : 10000000), 1); });
}

struct Task {
    struct promise_type {
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { sink = 9; }
    };
    std::coroutine_handle<promise_type> handle;
};

static NOINLINE Task coroutine(int steps) {
    for (int i = 0; i < steps; i++) {
        sink = i;
        co_await std::suspend_always{};
    }
    throws(2);
}

static NOINLINE void coroutines() {
    keeps("a coroutine", [] {
        Task task = coroutine(5);
        long mine = depth();
        while (!task.handle.done()) {
            task.handle.resume();
            check("after its step", depth(), mine);
        }
        task.handle.destroy();
    });
}

static NOINLINE void in_thread(int number) {
    keeps("a thread's exception", [] { catches(cleans_up); });
    keeps("a thread's recursion", [=] { recurses(number); });
}

static NOINLINE void threads() {
    keeps("threads", [] {
        std::vector<std::thread> all;
        for (int i = 0; i < 4; i++)
            all.emplace_back(in_thread, i * 10);
        for (std::thread &each : all)
            each.join();
    });
}

static volatile long handled;

static void on_signal(int) {
    catches(throws);
    handled = handled + recurses(5) - recurses(5) + 1;
}

static NOINLINE void signals() {
    static char memory[1 << 17];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    keeps("signals on another stack", [] {
        for (int i = 0; i < 100; i++)
            raise(SIGUSR1);
    });
    check("signals handled", handled, 100);
}

static NOINLINE void never_returns(int levels) {
    if (levels)
        never_returns(levels - 1);
    throw levels;
}

static NOINLINE void vector_arguments() {
    keeps("floating-point arguments", [] { check("their sum", long(wide(1, 1, 1, 1, 1, 1, 1)), 21); });
    keeps("noreturn", [] {
        try {
            never_returns(3);
        } catch (int) {
        }
    });
}

static NOINLINE SKIP long unseen() { return depth(); }

static NOINLINE void described() {
    long mine = depth();
    check("a function that is left out", unseen() - mine, 0);
    const tw_desc *self = frame(0);
    check("the descriptor's function", reinterpret_cast<long>(self->function),
          reinterpret_cast<long>(&described));
    check("the descriptor's name", std::strstr(self->name, "described") != nullptr, 1);
    check("the descriptor's file", std::strstr(self->file, "correct.cpp") != nullptr, 1);
    check("the descriptor has a line", self->line > 0 || !DEBUG_LINES, 1);
    check("the descriptor's flags", self->flags, 0);
}

int main() {
    // Wide arguments first: this is the call that takes the slow path.
    std::thread first([] { vector_arguments(); });
    first.join();
    keeps("everything", [] {
        exceptions();
        keeps("longjmp", long_jumps);
        keeps("ways", ways);
#if !SANITIZED
        keeps("built-in longjmp", built_in_jumps);
#endif
        plain_calls();
        coroutines();
        threads();
        signals();
        vector_arguments();
        described();
    });
    if (failures == 0)
        std::puts("all depths as they should be");
    return failures != 0;
}
