/* Linked into every shared library that is built by tailwater-cc: tells the runtime when it goes. */
#include "tailwater/profile_abi.h"

/* What the library is linked with may be without it. */
extern __typeof__(tw_profile_library_gone) tw_profile_library_gone __attribute__((weak));

/* The linker's names for where the section begins and ends; null where nothing is instrumented. */
extern const struct tw_desc first[] __asm__("__start_" TW_PROFILE_SECTION)
    __attribute__((weak, visibility("hidden")));
extern const struct tw_desc end[] __asm__("__stop_" TW_PROFILE_SECTION)
    __attribute__((weak, visibility("hidden")));

/* After the library's other destructors, which may be instrumented. */
__attribute__((destructor(101))) static void gone(void) {
    if (first && tw_profile_library_gone)
        tw_profile_library_gone(first, end);
}
