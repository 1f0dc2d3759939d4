// Where in a function its frame begins again and where it ends.

#ifndef TAILWATER_PROFILE_PLACES_H
#define TAILWATER_PROFILE_PLACES_H

#include "Region.h"

#include "llvm/ADT/SetVector.h"

namespace tailwater {

/// Instructions; what is to be done is done right before them.
struct Places {
  /// The frame ends.
  llvm::SmallVector<llvm::Instruction *, 4> Leaves;
  /// The frame is the innermost again, whatever lies above.
  llvm::SmallVector<llvm::Instruction *, 4> Links;
  /// A call has come back, after other machine stacks ran, perhaps, and on another thread.
  llvm::SmallSetVector<llvm::Instruction *, 8> Returns;
};

/// Those of \p F, whose frame is there in \p Framed. To be found before anything is inserted.
Places findPlaces(llvm::Function &F, const Region &Framed);

} // namespace tailwater

#endif
