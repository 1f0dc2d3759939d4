/* The smallest runtime that instrumented code can run on: for tests of the pass alone. Every thread
 * gets a context with a stack that is large enough for them; filling it ends the program. */
#include "tailwater/profile_abi.h"
#include <stdlib.h>
#include <sys/mman.h>

/* Ten million frames and more; pages that are never touched cost nothing. */
#define STACK_BYTES (16ul * 12000000)

static struct tw_context unregistered;
/* Some code runs while a thread is being registered, or when nothing can be mapped. */
__thread struct tw_context *tw_profile_context = &unregistered;

static void *map(size_t bytes) {
    void *found = mmap(0, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED)
        abort();
    return found;
}

__attribute__((preserve_most)) uint64_t tw_profile_slow(void) {
    if (tw_profile_context != &unregistered)
        abort();
    struct tw_context *context = map(sizeof *context);
    context->base = (uint64_t)map(STACK_BYTES);
    context->position = context->base;
    context->limit = context->base + STACK_BYTES;
    context->state = TW_THREAD_LIVE;
    tw_profile_context = context;
    return context->position;
}
