/* Linked into every shared library that is built by tailwater-cc: asks the runtime when it comes whether it may, and tells
 * it when it goes. */
#include "tailwater/profile_abi.h"

/* What the library is linked with may be without them. */
extern __typeof__(tw_profile_library_gone) tw_profile_library_gone __attribute__((weak));
extern __typeof__(tw_profile_check_abi) tw_profile_check_abi __attribute__((weak));

/* The linker's names for where the section begins and ends; null where nothing is instrumented. */
extern const struct tw_desc first[] __asm__("__start_" TW_PROFILE_SECTION)
    __attribute__((weak, visibility("hidden")));
extern const struct tw_desc end[] __asm__("__stop_" TW_PROFILE_SECTION)
    __attribute__((weak, visibility("hidden")));

extern const uint32_t first_version[] __asm__("__start_" TW_PROFILE_ABI_SECTION)
    __attribute__((weak, visibility("hidden")));
extern const uint32_t end_version[] __asm__("__stop_" TW_PROFILE_ABI_SECTION)
    __attribute__((weak, visibility("hidden")));

/* Before the library's other constructors, which may be instrumented. */
__attribute__((constructor(101))) static void come(void) {
    if (first_version && tw_profile_check_abi)
        tw_profile_check_abi(first_version, end_version);
}

/* After the library's other destructors, which may be instrumented. */
__attribute__((destructor(101))) static void gone(void) {
    if (first && tw_profile_library_gone)
        tw_profile_library_gone(first, end);
}
