// What `tailwater profile build` asks for.

#ifndef TAILWATER_PROFILE_ENVIRONMENT_H
#define TAILWATER_PROFILE_ENVIRONMENT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Process.h"

namespace tailwater {

/// Whether an option is on.
inline bool isSet(llvm::StringRef Name) {
  return llvm::sys::Process::GetEnv(Name).value_or("") == "1";
}

} // namespace tailwater

#endif
