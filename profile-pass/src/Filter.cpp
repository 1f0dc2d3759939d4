#include "Filter.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace tailwater;

namespace {

cl::opt<std::string> FilterPath("tw-profile-filter", cl::value_desc("file"),
                                cl::desc("Which functions to profile: +GLOB, -GLOB, +file:GLOB"));

Error wrong(StringRef Path, int64_t Line, const Twine &What) {
  return createStringError(Path + ":" + Twine(Line) + ": " + What);
}

/// Rust's older mangling ends a name with a hash that nobody would type.
StringRef withoutHash(StringRef Name) {
  auto [Path, Hash] = Name.rsplit("::h");
  return Hash.size() == 16 && all_of(Hash, isHexDigit) ? Path : Name;
}

/// `a::b::f` of `int a::b::f<T>(T)`; empty where the name is not C++'s.
std::string withoutParameters(const std::string &Mangled) {
  ItaniumPartialDemangler Demangler;
  if (Demangler.partialDemangle(Mangled.c_str()) || !Demangler.isFunction())
    return {};
  auto Take = [](char *Owned) {
    std::string Text = Owned ? Owned : "";
    std::free(Owned);
    return Text;
  };
  std::string Scope = Take(Demangler.getFunctionDeclContextName(nullptr, nullptr));
  std::string Base = Take(Demangler.getFunctionBaseName(nullptr, nullptr));
  return Scope.empty() ? Base : Scope + "::" + Base;
}

/// Every way to write a function's name.
SmallVector<std::string, 3> spellings(const Function &F) {
  std::string Mangled = F.getName().str();
  std::string Demangled = demangle(Mangled);
  SmallVector<std::string, 3> All{Mangled, withoutHash(Demangled).str()};
  All.push_back(withoutParameters(Mangled));
  return All;
}

StringRef fileOf(const Function &F) {
  DISubprogram *Program = F.getSubprogram();
  return Program ? Program->getFilename() : StringRef(F.getParent()->getSourceFileName());
}

} // namespace

Expected<Filter> Filter::parse(StringRef Text, StringRef Path) {
  Filter Parsed;
  Parsed.Text = MemoryBuffer::getMemBufferCopy(Text, Path);
  for (line_iterator Line(*Parsed.Text, /*SkipBlanks=*/true, '#'); !Line.is_at_end(); ++Line) {
    StringRef Rule = Line->trim();
    if (Rule.empty())
      continue;
    bool Includes = Rule.consume_front("+");
    if (!Includes && !Rule.consume_front("-"))
      return wrong(Path, Line.line_number(),
                   "found '" + Rule + "'; a rule is +GLOB, -GLOB, +file:GLOB or -file:GLOB");
    bool OnFile = Rule.consume_front("file:");
    if (Rule.empty())
      return wrong(Path, Line.line_number(), "found no glob; name a function or a file, as in +f*");
    auto Glob = GlobPattern::create(Rule, /*MaxSubPatterns=*/64);
    if (!Glob)
      return wrong(Path, Line.line_number(),
                   "found '" + Rule + "': " + toString(Glob.takeError()));
    Parsed.Rules.push_back({Includes, OnFile, std::move(*Glob)});
  }
  return Parsed;
}

Expected<Filter> Filter::fromOptions() {
  std::string Path = FilterPath;
  if (Path.empty())
    Path = sys::Process::GetEnv("TAILWATER_PROFILE_FILTER").value_or("");
  if (Path.empty())
    return Filter();
  auto Buffer = MemoryBuffer::getFile(Path, /*IsText=*/true);
  if (!Buffer)
    return createStringError("could not read the profiler's filter file " + Path + ": " +
                             Buffer.getError().message());
  return parse((*Buffer)->getBuffer(), Path);
}

Expected<Filter> Filter::clocked() {
  return parse(sys::Process::GetEnv("TAILWATER_PROFILE_CLOCK").value_or(""), "--clock");
}

bool Filter::includes(const Function &F) const {
  if (Rules.empty())
    return true;
  SmallVector<std::string, 3> Names = spellings(F);
  StringRef File = fileOf(F);
  for (const Rule &R : reverse(Rules)) {
    auto Matches = [&](const std::string &Name) { return !Name.empty() && R.Glob.match(Name); };
    if (R.OnFile ? R.Glob.match(File) : any_of(Names, Matches))
      return R.Includes;
  }
  return !Rules.front().Includes;
}
