// The filter file: which functions are instrumented, by name and source file.
//
//   # comment
//   +GLOB  or  -GLOB            on a function's name: mangled, demangled, or without parameters
//   +file:GLOB  or  -file:GLOB  on its source file, as the compiler was given it
//
// The last line that matches decides. What no line matches is instrumented, unless the first line
// is a `+`: then the file lists what is wanted, and the rest is left alone.

#ifndef TAILWATER_PROFILE_FILTER_H
#define TAILWATER_PROFILE_FILTER_H

#include "llvm/IR/Function.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <vector>

namespace tailwater {

class Filter {
public:
  /// Parses \p Text; errors name \p Path, the line, what was found and what is needed.
  static llvm::Expected<Filter> parse(llvm::StringRef Text, llvm::StringRef Path);
  /// Reads the file named by -tw-profile-filter or TAILWATER_PROFILE_FILTER; none: no rules.
  static llvm::Expected<Filter> fromOptions();
  /// Which functions time their own calls, by the rules in TAILWATER_PROFILE_CLOCK; none: no rules.
  static llvm::Expected<Filter> clocked();

  bool isEmpty() const { return Rules.empty(); }
  bool includes(const llvm::Function &F) const;

private:
  struct Rule {
    bool Includes, OnFile;
    llvm::GlobPattern Glob;
  };
  /// What the globs are parts of: they do not own their text.
  std::unique_ptr<llvm::MemoryBuffer> Text;
  std::vector<Rule> Rules;
};

} // namespace tailwater

#endif
