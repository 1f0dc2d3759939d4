// The transformation: a function pushes itself on its thread's shadow stack and pops itself off.

#ifndef TAILWATER_PROFILE_SHADOW_STACK_H
#define TAILWATER_PROFILE_SHADOW_STACK_H

#include "llvm/IR/Function.h"

namespace tailwater {

/// Functions that carry this attribute have been instrumented: the pass may meet a module twice,
/// once when it is compiled and again when it is linked.
inline constexpr llvm::StringLiteral Done = "tailwater-profile";

/// Who times calls, beside the scanner.
enum class Clocking {
  /// Nobody: no function of the program is clocked.
  None,
  /// Other functions than this one, whose frames may be unwound to its own.
  Others,
  /// This function times its own.
  Own
};

/// Adds the code of profile_abi.h to \p F, which has a body. Call once per function.
void pushFrame(llvm::Function &F, Clocking Clock);

} // namespace tailwater

#endif
