#include "Selection.h"
#include "Names.h"
#include "ShadowStack.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;
using namespace tailwater;

namespace {

using Functions = SmallPtrSetImpl<const Function *>;

bool isSkip(const Value *Text) {
  auto *Global = dyn_cast<GlobalVariable>(Text->stripPointerCasts());
  if (!Global || !Global->hasInitializer())
    return false;
  auto *Bytes = dyn_cast<ConstantDataSequential>(Global->getInitializer());
  return Bytes && Bytes->isCString() && Bytes->getAsCString() == SkipAnnotation;
}

/// clang lists annotated functions in one array of {function, text, file, line, arguments}.
void excludeAnnotated(const Module &M, Functions &Excluded) {
  auto *List = M.getGlobalVariable("llvm.global.annotations");
  auto *Array = List && List->hasInitializer() ? dyn_cast<ConstantArray>(List->getInitializer())
                                               : nullptr;
  if (!Array)
    return;
  for (const Use &Item : Array->operands()) {
    auto *Fields = dyn_cast<ConstantStruct>(Item);
    if (!Fields || Fields->getNumOperands() < 2 || !isSkip(Fields->getOperand(1)))
      continue;
    if (auto *F = dyn_cast<Function>(Fields->getOperand(0)->stripPointerCasts()))
      Excluded.insert(F);
  }
}

/// Resolvers, and what they call, run before thread-local storage is there.
void excludeResolvers(const Module &M, Functions &Excluded) {
  SmallVector<const Function *, 8> Pending;
  for (const GlobalIFunc &IFunc : M.ifuncs())
    Pending.push_back(IFunc.getResolverFunction());
  while (!Pending.empty()) {
    const Function *F = Pending.pop_back_val();
    if (!F || !Excluded.insert(F).second)
      continue;
    for (const Instruction &I : instructions(*F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        Pending.push_back(Call->getCalledFunction());
  }
}

bool isRuntime(const Function &F) {
  return F.getName().starts_with(RuntimePrefix) || F.getName().contains(RuntimeCrate);
}

/// What it pushed would be taken from another fiber's stack: it leaves, by a tail call most often, after it
/// has switched.
bool switchesFibers(const Function &F) {
  for (const Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (auto *Callee = Call->getCalledFunction(); Callee && Callee->getName() == SwitchName)
        return true;
  return false;
}

/// Conventions under which there is no machine stack, or no room for a call on entry.
bool hasForeignConvention(const Function &F) {
  CallingConv::ID Convention = F.getCallingConv();
  return Convention == CallingConv::GHC || Convention == CallingConv::HiPE ||
         Convention == CallingConv::X86_INTR;
}

bool canCarryFrame(const Function &F) {
  if (F.isDeclaration() || F.hasAvailableExternallyLinkage() || F.hasFnAttribute(Attribute::Naked) ||
      F.isPresplitCoroutine() || hasForeignConvention(F))
    return false;
  return !F.hasPersonalityFn() || !isFuncletEHPersonality(classifyEHPersonality(F.getPersonalityFn()));
}

} // namespace

Selection::Selection(Module &M, const Filter &Names) : Names(Names) {
  excludeAnnotated(M, Excluded);
  excludeResolvers(M, Excluded);
}

bool Selection::includes(const Function &F) const {
  return canCarryFrame(F) && !F.hasFnAttribute(Done) && !isRuntime(F) && !Excluded.contains(&F) &&
         !switchesFibers(F) && Names.includes(F);
}
