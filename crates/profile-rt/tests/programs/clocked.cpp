/* Clocked functions, and what they say themselves of their calls: readings of the clock around each call, and within it.
 *
 *     clocked calls ROUNDS FILE     two threads call handle, which works for some microseconds
 *     clocked ways ROUNDS FILE      every way out of a function
 *     clocked quick ROUNDS          calls that do nothing
 *     clocked counts ROUNDS FILE    calls that sleep, touch 64 new pages, and spend 1 ms of a core
 *     clocked serve FILE            calls of handle, with a line after the first, until the standard input ends
 *
 * FILE then has a line for each call: function, thread, generation, and the readings before, within, within and after. */
#include "tailwater/profile.h"
#include "tailwater/profile_abi.h"
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct fact {
    const char *function;
    uint64_t tid, generation, before, first, last, after;
};

static constexpr size_t FACTS = 1 << 20;
static fact facts[FACTS];
static std::atomic<size_t> made{0};

/* No reading moves past another. */
static inline void fence() {
#ifdef __x86_64__
    __builtin_ia32_lfence();
#else
    __asm__ volatile("isb" ::: "memory");
#endif
}

static inline uint64_t now() {
    fence();
    uint64_t ticks = tw_profile_now();
    fence();
    return ticks;
}

static fact *begin(const char *function) {
    size_t at = made++;
    if (at >= FACTS)
        abort();
    fact *it = &facts[at];
    it->function = function;
    it->tid = (uint64_t)syscall(SYS_gettid);
    it->before = now();
    return it;
}

/* The caller's frame is the innermost. */
static inline __attribute__((always_inline)) void within(fact *it, unsigned work) {
    it->generation = tw_profile_context->generation;
    it->first = now();
    for (unsigned n = 0; n < work; n++)
        __asm__ volatile("");
    it->last = now();
}

#define CLOCKED extern "C" __attribute__((noinline))

CLOCKED void handle(fact *it, unsigned work) { within(it, work); }

CLOCKED void recurses(fact *it, unsigned depth) {
    within(it, 100);
    if (depth) {
        fact *inner = begin("recurses");
        recurses(inner, depth - 1);
        inner->after = now();
    }
    it->last = now();
}

CLOCKED void throws(fact *it) {
    within(it, 100);
    throw 7;
}

CLOCKED void jumps(fact *it, jmp_buf to) {
    within(it, 100);
    longjmp(to, 1);
}

CLOCKED void leaves(fact *it) {
    within(it, 100);
    pthread_exit(nullptr);
}

static fact *passed;

/* Gone by the time that `handle` begins. */
CLOCKED void passes_on(fact *it, unsigned work) {
    within(it, work);
    passed = begin("handle");
    [[clang::musttail]] return handle(passed, work);
}

CLOCKED void quick() { __asm__ volatile(""); }

static void call(unsigned work) {
    fact *it = begin("handle");
    handle(it, work);
    it->after = now();
}

static void *calls(void *rounds) {
    for (uint64_t n = 0; n < (uint64_t)rounds; n++)
        call(20000);
    return nullptr;
}

static void *leave(void *it) {
    fact *its = static_cast<fact *>(it);
    its->tid = (uint64_t)syscall(SYS_gettid);
    leaves(its);
    return nullptr;
}

static fact *jumping;

static void ways() {
    fact *it = begin("recurses");
    recurses(it, 20);
    it->after = now();

    it = begin("throws");
    try {
        throws(it);
    } catch (int) {
        it->after = now();
    }

    static jmp_buf back;
    jumping = begin("jumps");
    if (!setjmp(back))
        jumps(jumping, back);
    jumping->after = now();

    it = begin("leaves");
    pthread_t thread;
    if (pthread_create(&thread, nullptr, leave, it) || pthread_join(thread, nullptr))
        abort();
    it->after = now();
}

static int write_to(const char *name) {
    FILE *out = fopen(name, "w");
    if (!out)
        return 1;
    for (size_t at = 0; at < made; at++) {
        const fact *it = &facts[at];
        fprintf(out, "%s %lu %lu %lu %lu %lu %lu\n", it->function, it->tid, it->generation, it->before,
                it->first, it->last, it->after);
    }
    return fclose(out) != 0;
}

CLOCKED void counts_sleep(fact *it) {
    within(it, 0);
    usleep(100);
    it->last = now();
}

CLOCKED void counts_touch(fact *it) {
    within(it, 0);
    size_t bytes = 64 * 4096;
    void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096)
        static_cast<volatile char *>(pages)[at] = 1;
    munmap(pages, bytes);
    it->last = now();
}

static uint64_t cpu_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

CLOCKED void counts_spin(fact *it) {
    within(it, 0);
    uint64_t end = cpu_ns() + 1000000;
    while (cpu_ns() < end)
        ;
    it->last = now();
}

static void counts() {
    static const struct {
        const char *name;
        void (*work)(fact *);
    } all[] = {{"counts_sleep", counts_sleep}, {"counts_touch", counts_touch}, {"counts_spin", counts_spin}};
    for (const auto &one : all) {
        fact *it = begin(one.name);
        one.work(it);
        it->after = now();
    }
}

int main(int count, char **words) {
    const char *scene = count > 2 ? words[1] : "";
    uint64_t rounds = count > 2 ? strtoull(words[2], nullptr, 10) : 0;
    if (!strcmp(scene, "calls")) {
        pthread_t other;
        if (pthread_create(&other, nullptr, calls, (void *)rounds))
            return 1;
        calls((void *)rounds);
        return pthread_join(other, nullptr) || write_to(words[3]);
    }
    if (!strcmp(scene, "ways")) {
        while (rounds--) {
            ways();
            fact *it = begin("passes_on");
            passes_on(it, 100);
            passed->after = now();
            it->after = passed->first;
        }
        return write_to(words[3]);
    }
    if (!strcmp(scene, "counts")) {
        while (rounds--)
            counts();
        return write_to(words[3]);
    }
    if (!strcmp(scene, "quick")) {
        while (rounds--)
            quick();
        return 0;
    }
    if (!strcmp(scene, "serve")) {
        pthread_t reader;
        static std::atomic<bool> ends{false};
        auto read_all = [](void *) -> void * {
            while (getchar() != EOF)
                ;
            ends = true;
            return nullptr;
        };
        if (pthread_create(&reader, nullptr, read_all, nullptr))
            return 1;
        call(50000);
        puts("serves");
        fflush(stdout);
        while (!ends && made < FACTS - 1)
            call(50000);
        return write_to(words[2]);
    }
    return 2;
}
