/* Lets a Rust program without unsafe code ask for its depth: `std::process::id()` answers with the
 * frames on the calling thread's shadow stack. */
#include "tailwater/profile_abi.h"
#include <sys/types.h>

pid_t getpid(void) {
    struct tw_context *context = tw_profile_context;
    return (pid_t)((context->position - context->base) / sizeof(struct tw_entry));
}
