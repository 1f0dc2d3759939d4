/* Code of another version of the pass, told before any of it runs. */
#define _GNU_SOURCE
#include "shim.h"
#include <link.h>
#include <stdio.h>
#include <unistd.h>

/* The linker's names for where the section begins and ends in this image: the program's, where the runtime is linked
 * into it. Null where nothing is instrumented. */
extern const uint32_t first[] __asm__("__start_" TW_PROFILE_ABI_SECTION)
    __attribute__((weak, visibility("hidden")));
extern const uint32_t end[] __asm__("__stop_" TW_PROFILE_ABI_SECTION)
    __attribute__((weak, visibility("hidden")));

struct sought {
    uint64_t address;
    const char *path;
};

static int holds(struct dl_phdr_info *info, size_t size, void *data) {
    struct sought *sought = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t offset = sought->address - info->dlpi_addr - header->p_vaddr;
        if (header->p_type == PT_LOAD && offset < header->p_memsz)
            sought->path = info->dlpi_name;
    }
    return 0;
}

/* The process cannot go on: even where nothing is recorded, code of both kinds writes by one thread's context. */
static void refuse(const uint32_t *version) {
    struct sought sought = {(uint64_t)version, NULL};
    dl_iterate_phdr(holds, &sought);
    int has_name = sought.path && *sought.path;
    dprintf(STDERR_FILENO,
            "tailwater: %s: found code for version %u of the profiler's interface, needed version %u, which the runtime "
            "has. Build all of it anew by one tailwater: tailwater profile build -- make -B\n",
            has_name ? sought.path : "the program", *version, TW_PROFILE_ABI);
    _exit(127);
}

void tw_profile_check_abi(const uint32_t *from, const uint32_t *to) {
    for (; from < to; from++)
        if (*from != TW_PROFILE_ABI)
            refuse(from);
}

void tw_shim_check_own(void) {
    if (first)
        tw_profile_check_abi(first, end);
}

#ifdef __clang__
#pragma clang attribute pop
#endif
