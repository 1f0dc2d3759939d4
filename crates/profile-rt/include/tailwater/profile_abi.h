/* What instrumented code, the runtime and a scanner share. Not for application code: that includes
 * tailwater/profile.h. Changing anything here changes TW_PROFILE_ABI, and the pass with it. */
#ifndef TAILWATER_PROFILE_ABI_H
#define TAILWATER_PROFILE_ABI_H

#include <stdint.h>

#define TW_PROFILE_ABI 4u
/* The section that holds the descriptors, so that tools find them in the file. */
#define TW_PROFILE_SECTION "tw_desc"
/* The section in which each image has one uint32_t for each TW_PROFILE_ABI that its code was compiled for. */
#define TW_PROFILE_ABI_SECTION "tw_abi"

#if defined(__has_attribute)
#if __has_attribute(preserve_most)
#define TW_PRESERVE_MOST __attribute__((preserve_most))
#endif
#endif
#ifndef TW_PRESERVE_MOST
#define TW_PRESERVE_MOST    /* never called by what such a compiler compiles */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One per instrumented function, emitted by the pass into TW_PROFILE_SECTION, in the function's
 * comdat. 32 bytes. */
struct tw_desc {
    const void *function;   /* its first instruction */
    const char *name;       /* mangled */
    const char *file;       /* as the compiler was given it; may be empty */
    uint32_t line;          /* of the definition; 0 when unknown */
    uint32_t flags;         /* bit 0: filtered out at run time; the rest is zero */
};

/* One frame of a shadow stack. Valid while it lies below `position`. */
struct tw_entry {
    uint64_t what;          /* its tw_desc's address, and from bit TW_SITE_SHIFT up the low 16 bits of
                               the return address: where its caller goes on; and TW_CLOCKED */
    uint64_t generation;    /* the thread's counter when this frame was pushed */
};

/* Addresses of user space end below. With the address of the caller, 16 bits tell a place in it. */
#define TW_SITE_SHIFT 48
/* Descriptors are aligned to 8 bytes. Of a frame that has this bit the thread itself tells when the call began and
 * ended. */
#define TW_CLOCKED ((uint64_t)1)

static inline const struct tw_desc *tw_desc_of(uint64_t what) {
    return (const struct tw_desc *)(what & (((uint64_t)1 << TW_SITE_SHIFT) - 1) & ~(uint64_t)7);
}

/* One line of memory: what a scanner polls. Written by its thread only, save `limit` and `state`. */
struct tw_context {
    uint64_t position;      /* address of the next free tw_entry */
    uint64_t generation;    /* frames ever pushed by this thread */
    uint64_t limit;         /* address from which nothing is pushed; 0: not registered yet */
    uint64_t base;          /* address of the first tw_entry */
    uint32_t tid;           /* the kernel's number for the thread */
    uint32_t state;         /* TW_THREAD_* in its two low bits; the rest is the runtime's */
    /* The machine stack that these frames are of, for code that is built to find that out. */
    uint64_t stack_low;     /* from here */
    uint64_t stack_extent;  /* and for so many bytes it is known to be this one; 0: not known yet */
    uint64_t stack_top;     /* where it ends, of a fiber that was found; else 0 */
} __attribute__((aligned(64)));

enum { TW_THREAD_UNUSED = 0, TW_THREAD_LIVE = 1, TW_THREAD_ENDED = 2 };

/* Points at a dummy whose limit is 0 until the thread's first instrumented call. */
extern __thread struct tw_context *tw_profile_context;

/* Entered when position >= limit: registers the thread, or, where its stack is full, leaves it on an
 * overflow pad. Returns the position to push at. Preserves all registers but the result's (the pass
 * calls it as preserve_most); in the pad, frames are pushed over and over on one entry. */
TW_PRESERVE_MOST uint64_t tw_profile_slow(void);

/* Fibers that nobody announces (TAILWATER_PROFILE_FIBERS=1 in the pass's environment). The same, entered too
 * where `stack`, the address of the caller's return address, is none of the context's: goes on in the context
 * of that machine stack, which may be a new one. */
TW_PRESERVE_MOST uint64_t tw_profile_slow_on_stack(uint64_t stack);

/* A call has come back, and this thread's context is not the one that its caller had pushed on: other machine
 * stacks ran meanwhile. Makes it that one again. */
TW_PRESERVE_MOST void tw_profile_back(struct tw_context *context);

/* Functions that time their own calls (TAILWATER_PROFILE_CLOCK in the pass's environment). A frame is about to be
 * pushed at `position`. Reads the clock while something is recorded; returns `what`, with TW_CLOCKED where it did. */
uint64_t tw_profile_clocked_enter(uint64_t position, uint64_t what);

/* The frame at `position` is about to end: its call is told of, if it was clocked. */
void tw_profile_clocked_leave(uint64_t position);

/* Frames from `position` up are gone: clocked calls among them have ended. */
void tw_profile_clocked_link(uint64_t position);

/* The library with these descriptors is about to go, and none of its functions will run again. Returns
 * when they have been read, which takes some milliseconds while a recording is under way. */
void tw_profile_library_gone(const struct tw_desc *from, const struct tw_desc *to);

/* Checks what is in TW_PROFILE_ABI_SECTION of an image that is being loaded. Where that is not this runtime's, the
 * process ends with code 127, and standard error says why: frames would be written where other memory is. */
void tw_profile_check_abi(const uint32_t *from, const uint32_t *to);

/* Where a function's frame begins, as the pass emits it: on entry, or, where some paths need no frame (they
 * neither call nor loop), before the first block from which all others are reached that do.
 *     ctx = tw_profile_context;  pos = ctx->position;
 *     if (pos >= ctx->limit) { pos = tw_profile_slow(); ctx = tw_profile_context; }
 *     gen = ctx->generation + 1;  ctx->generation = gen;
 *     ((tw_entry *)pos)->what = desc | return address << 48;  ((tw_entry *)pos)->generation = gen;
 *     ctx->position = pos + 16;
 * Where it ends (before ret, resume and tail calls, and on edges to blocks that are reached without it):
 *     tw_profile_context->position = pos;
 * Landing pads and after calls that return twice: tw_profile_context->position = pos + 16.
 * Of a clocked function the frame begins on entry; `what` goes through tw_profile_clocked_enter before the counter is
 * loaded, and tw_profile_clocked_leave comes before the store that ends the frame. Where the program has any, all
 * functions call tw_profile_clocked_link(pos + 16) before they store that.
 * For fibers that nobody announces, the slow path is also taken on entry where
 *     &return address - ctx->stack_low >= ctx->stack_extent,
 * the frame ends by ctx->position = pos, and after calls (that write memory) and at landing pads comes
 *     if (tw_profile_context != ctx) tw_profile_back(ctx);
 * Loads are no more than whole, since only the limit is ever written by another thread, and stores are
 * release: a scanner that sees a frame also sees a thread's generation no older than the frame's, and one
 * that sees a position sees what lies below it (all are plain moves on x86-64). */

#ifdef __cplusplus
}
#endif
#endif
