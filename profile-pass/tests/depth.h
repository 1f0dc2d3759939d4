// How many frames the calling thread's shadow stack holds, and checks on it.

#ifndef DEPTH_H
#define DEPTH_H

#include "tailwater/profile_abi.h"
#include <cstdio>
#include <cstdlib>

#define SKIP __attribute__((annotate("tailwater_skip")))
#define NOINLINE __attribute__((noinline))

/// Frames of the calling thread, the caller's included.
SKIP NOINLINE inline long depth() {
    auto *context = tw_profile_context;
    return context->base ? long(context->position - context->base) / long(sizeof(tw_entry)) : 0;
}

/// The descriptor of the frame \p above frames above the innermost one.
SKIP NOINLINE inline const tw_desc *frame(long above) {
    return tw_desc_of(reinterpret_cast<tw_entry *>(tw_profile_context->position)[-1 - above].what);
}

inline long failures;

SKIP NOINLINE inline void check(const char *what, long found, long wanted) {
    if (found == wanted)
        return;
    std::printf("%s: found %ld, wanted %ld\n", what, found, wanted);
    failures++;
}

/// Runs \p step and checks that it leaves the stack as it was.
template <class Step> NOINLINE void keeps(const char *what, Step step) {
    long before = depth();
    step();
    check(what, depth(), before);
}

#endif
