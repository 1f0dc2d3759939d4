#include "Places.h"

#include "Environment.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace tailwater;

namespace {

/// A caller's frame stays during its tail calls, which then use machine stack.
bool keepsTailCallers() { return isSet("TAILWATER_PROFILE_KEEP_TAIL_CALLERS"); }

/// A call that may reuse our machine frame: popping after it would take that position from it, and
/// programs that recurse so would run out of stack.
bool isTailCall(const CallInst &Call, bool MayDisable) {
  if (Call.isMustTailCall())
    return true;
  if (!Call.isTailCall() || MayDisable || isa<IntrinsicInst>(Call) || Call.isInlineAsm())
    return false;
  auto *Return = dyn_cast_or_null<ReturnInst>(Call.getNextNode());
  return Return && (!Return->getReturnValue() || Return->getReturnValue() == &Call);
}

/// May run other machine stacks before it comes back: what writes no memory does not.
bool maySwitchStacks(const CallBase &Call) {
  return returnsTwice(Call) || (!isa<IntrinsicInst>(Call) && !Call.onlyReadsMemory());
}

/// The first instruction after a call; null where it does not come back, or not to us.
Instruction *after(CallBase &Call) {
  if (auto *Invoke = dyn_cast<InvokeInst>(&Call))
    return &*Invoke->getNormalDest()->getFirstInsertionPt();
  if (Call.isTerminator() || Call.isMustTailCall() || isa<UnreachableInst>(Call.getNextNode()))
    return nullptr;
  return Call.getNextNode();
}

/// The call that a block ends with, where the frame must be gone by then.
CallInst *endingTailCall(BasicBlock &Block, bool NoTailCalls) {
  if (CallInst *Must = Block.getTerminatingMustTailCall())
    return Must;
  auto *Call = dyn_cast_or_null<CallInst>(Block.getTerminator()->getPrevNode());
  return Call && isTailCall(*Call, NoTailCalls) ? Call : nullptr;
}

void findCalls(BasicBlock &Block, const CallInst *Last, Places &Found) {
  for (Instruction &I : Block) {
    auto *Call = dyn_cast<CallBase>(&I);
    Instruction *Next = Call && Call != Last ? after(*Call) : nullptr;
    if (!Next)
      continue;
    if (returnsTwice(*Call))
      Found.Links.push_back(Next);
    if (maySwitchStacks(*Call))
      Found.Returns.insert(Next);
  }
}

} // namespace

Places tailwater::findPlaces(Function &F, const Region &Framed) {
  bool NoTailCalls = keepsTailCallers() || F.getFnAttribute("disable-tail-calls").getValueAsBool();
  Places Found;
  for (BasicBlock *Last : Framed.Last)
    Found.Leaves.push_back(Last->getTerminator());
  for (BasicBlock *Block : Framed.Blocks) {
    Instruction *End = Block->getTerminator();
    CallInst *Last = nullptr;
    if (isa<ReturnInst>(End)) {
      Last = endingTailCall(*Block, NoTailCalls);
      Found.Leaves.push_back(Last ? Last : End);
    } else if (isa<ResumeInst>(End)) {
      Found.Leaves.push_back(End);
    }
    if (Block->isLandingPad()) {
      Found.Links.push_back(&*Block->getFirstInsertionPt());
      Found.Returns.insert(&*Block->getFirstInsertionPt());
    }
    findCalls(*Block, Last, Found);
  }
  return Found;
}
