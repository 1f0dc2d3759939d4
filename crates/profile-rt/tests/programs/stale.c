/* What an object leaves in its image that the pass of another version compiled: see tailwater/profile_abi.h. */
#include <tailwater/profile_abi.h>

__attribute__((section(TW_PROFILE_ABI_SECTION), used, retain)) static const uint32_t version =
    TW_PROFILE_ABI - 1;
