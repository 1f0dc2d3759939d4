// Which functions are instrumented.

#ifndef TAILWATER_PROFILE_SELECTION_H
#define TAILWATER_PROFILE_SELECTION_H

#include "Filter.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Module.h"

namespace tailwater {

class Selection {
public:
  /// Collects what \p M says of its functions as a whole: annotations and ifunc resolvers.
  Selection(llvm::Module &M, const Filter &Names);

  bool includes(const llvm::Function &F) const;

private:
  llvm::SmallPtrSet<const llvm::Function *, 16> Excluded;
  const Filter &Names;
};

} // namespace tailwater

#endif
