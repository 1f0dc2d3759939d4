// Where in a function its frame is on the shadow stack.

#ifndef TAILWATER_PROFILE_REGION_H
#define TAILWATER_PROFILE_REGION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

namespace tailwater {

/// The blocks in which a function has its frame: those that are reached only through one of them, the head.
/// The smallest that will do holds all that can take long: calls, loops, and what may wait for another core. A
/// path outside of it pushes nothing; it computes, or its one call throws or ends the program.
struct Region {
  /// Null: the function never has a frame.
  llvm::BasicBlock *Head = nullptr;
  llvm::SmallVector<llvm::BasicBlock *, 16> Blocks;
  /// Where the frame ends and the function goes on: each of these leads out of the region and nowhere else.
  llvm::SmallVector<llvm::BasicBlock *, 4> Last;
};

/// Like setjmp: what follows may run again, when frames above are gone.
bool returnsTwice(const llvm::CallBase &Call);

/// All of \p F.
Region wholeOf(llvm::Function &F);
/// The smallest that will do. Splits edges that lead out of it.
Region slowPartOf(llvm::Function &F);

} // namespace tailwater

#endif
