#include "Region.h"

#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace tailwater;

bool tailwater::returnsTwice(const CallBase &Call) {
  return Call.hasFnAttr(Attribute::ReturnsTwice) || Call.getIntrinsicID() == Intrinsic::eh_sjlj_setjmp;
}

namespace {

/// What the processor copies or fills in some nanoseconds.
constexpr uint64_t FewBytes = 256;

bool takesTime(const Instruction &I) {
  if (I.isVolatile() || isa<AtomicRMWInst, AtomicCmpXchgInst, FenceInst>(I))
    return true;
  if (auto *Memory = dyn_cast<AnyMemIntrinsic>(&I)) {
    auto *Length = dyn_cast<ConstantInt>(Memory->getLength());
    return !Length || Length->getZExtValue() > FewBytes;
  }
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && (!isa<IntrinsicInst>(I) || returnsTwice(*Call));
}

/// A path that throws or ends the program by the one call that is on it is rarely taken, and may lie outside.
/// Not where what is thrown is caught in the function itself: that is an invoke.
bool onlyEnds(const BasicBlock &Block) {
  return isa<UnreachableInst>(Block.getTerminator()) && count_if(Block, takesTime) <= 1;
}

class Finder {
public:
  explicit Finder(Function &F) : F(F), Dominators(F) { Cycles.compute(F); }

  Region find() {
    Region Found;
    Found.Head = head();
    if (!Found.Head)
      return Found;
    for (BasicBlock &Block : F)
      if (isIn(Found, Block))
        Found.Blocks.push_back(&Block);
    return endsCleanly(Found) ? cut(Found) : wholeOf(F);
  }

private:
  /// Dominates all that takes time, and is in no cycle.
  BasicBlock *head() {
    BasicBlock *Head = nullptr;
    for (bool Ending : {false, true}) {
      for (BasicBlock &Block : F)
        if (Dominators.isReachableFromEntry(&Block) && onlyEnds(Block) == Ending && isSlow(Block))
          Head = Head ? Dominators.findNearestCommonDominator(Head, &Block) : &Block;
      if (Head)
        break;
    }
    while (Head && Cycles.getCycle(Head))
      Head = Dominators.getNode(Head)->getIDom()->getBlock();
    return Head;
  }

  bool isSlow(const BasicBlock &Block) { return Cycles.getCycle(&Block) || any_of(Block, takesTime); }

  bool isIn(const Region &Found, const BasicBlock &Block) {
    return Dominators.isReachableFromEntry(&Block) && Dominators.dominates(Found.Head, &Block);
  }

  /// Not where an edge out of it cannot be split, nor where an exception is caught outside of it.
  bool endsCleanly(const Region &Found) {
    for (BasicBlock &Block : F)
      if (Block.isEHPad() && Dominators.isReachableFromEntry(&Block) && !isIn(Found, Block))
        return false;
    if (Found.Head->isEHPad())
      return false;
    for (BasicBlock *Block : Found.Blocks)
      if (isa<IndirectBrInst, CallBrInst>(Block->getTerminator()))
        return false;
    return true;
  }

  Region cut(Region Found) {
    SmallVector<BasicBlock *, 16> Inside = Found.Blocks;
    for (BasicBlock *Block : Inside) {
      Instruction *End = Block->getTerminator();
      bool OnlyOut = End->getNumSuccessors() == 1;
      for (unsigned At = 0; At < End->getNumSuccessors(); ++At) {
        if (isIn(Found, *End->getSuccessor(At)))
          continue;
        CriticalEdgeSplittingOptions Options(&Dominators);
        Found.Last.push_back(OnlyOut ? Block : SplitCriticalEdge(End, At, Options));
      }
    }
    return Found;
  }

  Function &F;
  DominatorTree Dominators;
  CycleInfo Cycles;
};

} // namespace

Region tailwater::wholeOf(Function &F) {
  Region Found;
  Found.Head = &F.getEntryBlock();
  for (BasicBlock &Block : F)
    Found.Blocks.push_back(&Block);
  return Found;
}

Region tailwater::slowPartOf(Function &F) { return Finder(F).find(); }
