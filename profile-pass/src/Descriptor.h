// What a frame says of its function: struct tw_desc of profile_abi.h.

#ifndef TAILWATER_PROFILE_DESCRIPTOR_H
#define TAILWATER_PROFILE_DESCRIPTOR_H

#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"

namespace tailwater {

/// Emits the descriptor of \p F into the section that tools look for.
llvm::GlobalVariable *describe(llvm::Function &F);

/// Has the image that \p M becomes a part of say for which runtime its code is.
void stampVersion(llvm::Module &M);

} // namespace tailwater

#endif
