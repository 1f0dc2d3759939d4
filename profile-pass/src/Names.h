// Names that the pass shares with the runtime: see profile_abi.h.

#ifndef TAILWATER_PROFILE_NAMES_H
#define TAILWATER_PROFILE_NAMES_H

#include "tailwater/profile_abi.h"

#include "llvm/ADT/StringRef.h"

namespace tailwater {

inline constexpr llvm::StringLiteral ContextName = "tw_profile_context";
inline constexpr llvm::StringLiteral SlowName = "tw_profile_slow";
inline constexpr llvm::StringLiteral SlowOnStackName = "tw_profile_slow_on_stack";
inline constexpr llvm::StringLiteral BackName = "tw_profile_back";
inline constexpr llvm::StringLiteral ClockedEnterName = "tw_profile_clocked_enter";
inline constexpr llvm::StringLiteral ClockedLeaveName = "tw_profile_clocked_leave";
inline constexpr llvm::StringLiteral ClockedLinkName = "tw_profile_clocked_link";
inline constexpr llvm::StringLiteral DescriptorSection = TW_PROFILE_SECTION;
inline constexpr llvm::StringLiteral VersionSection = TW_PROFILE_ABI_SECTION;
/// Begins the name of everything in the runtime.
inline constexpr llvm::StringLiteral RuntimePrefix = "tw_profile_";
/// The runtime's Rust crate, as it appears within mangled names.
inline constexpr llvm::StringLiteral RuntimeCrate = "tailwater_profile_rt";
/// What a program calls where it goes on in another fiber.
inline constexpr llvm::StringLiteral SwitchName = "tw_fiber_switch";
/// `__attribute__((annotate(…)))`, behind TW_PROFILE_SKIP.
inline constexpr llvm::StringLiteral SkipAnnotation = "tailwater_skip";

} // namespace tailwater

#endif
