// Entry, exits and re-links, as crates/profile-rt/include/tailwater/profile_abi.h lays them down.
//
// The position found on entry is kept as an SSA value: it mostly stays in a register, and writing it
// back, rather than counting down, heals whatever frames were unwound without passing an exit.

#include "ShadowStack.h"
#include "Descriptor.h"
#include "Names.h"
#include "Region.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace tailwater;

namespace {

cl::opt<bool> KeepTailCallers(
    "tw-profile-keep-tail-callers",
    cl::desc("Keep a caller's frame during its tail calls; they then use machine stack"));

/// Every call pushes, on paths that neither call nor loop too.
bool wantsWhole() { return sys::Process::GetEnv("TAILWATER_PROFILE_WHOLE").value_or("") == "1"; }

// Offsets in struct tw_context and struct tw_entry.
constexpr uint64_t ContextGeneration = 8, ContextLimit = 16;
constexpr uint64_t EntryGeneration = 8, EntrySize = 16;

/// Initial-exec works everywhere; local-exec saves an instruction and a load, and needs a runtime
/// that is linked into the executable.
GlobalVariable::ThreadLocalMode tlsModel(const Module &M) {
  if (auto Wanted = sys::Process::GetEnv("TAILWATER_PROFILE_TLS"))
    return *Wanted == "local-exec" ? GlobalVariable::LocalExecTLSModel
                                   : GlobalVariable::InitialExecTLSModel;
  bool Executable = M.getPICLevel() == PICLevel::NotPIC || M.getPIELevel() != PIELevel::Default;
  return Executable ? GlobalVariable::LocalExecTLSModel : GlobalVariable::InitialExecTLSModel;
}

GlobalVariable *contextVariable(Module &M) {
  GlobalVariable *Context = M.getGlobalVariable(ContextName);
  if (!Context)
    Context = new GlobalVariable(M, PointerType::getUnqual(M.getContext()), false,
                                 GlobalValue::ExternalLinkage, nullptr, ContextName);
  if (Context->isDeclaration()) {
    auto Model = tlsModel(M);
    Context->setThreadLocalMode(Model);
    Context->setDSOLocal(Model == GlobalVariable::LocalExecTLSModel);
  }
  return Context;
}

FunctionCallee slowPath(Module &M) {
  LLVMContext &C = M.getContext();
  FunctionCallee Slow = M.getOrInsertFunction(SlowName, Type::getInt64Ty(C));
  auto *F = cast<Function>(Slow.getCallee());
  if (F->isDeclaration()) {
    F->setCallingConv(CallingConv::PreserveMost);
    F->addFnAttr(Attribute::Cold);
    F->addFnAttr(Attribute::NoUnwind);
    // A lazily bound call would run the dynamic linker, which preserves fewer registers.
    F->addFnAttr(Attribute::NonLazyBind);
  }
  return Slow;
}

/// Builds one function's accesses to its thread's context.
class FrameBuilder {
public:
  explicit FrameBuilder(Function &F)
      : F(F), M(*F.getParent()), Word(Type::getInt64Ty(F.getContext())), Variable(contextVariable(M)) {}

  /// The frame is there from the beginning of \p Head on.
  void enter(BasicBlock &Head);
  /// The frame is gone before \p I.
  void leaveBefore(Instruction &I) { setPosition(&I, I.getDebugLoc(), Position); }
  /// The frame is the innermost again from \p I on.
  void linkBefore(Instruction &I) {
    IRBuilder<> B(&I);
    setPosition(&I, I.getDebugLoc(), next(B));
  }

private:
  void setPosition(Instruction *Before, DebugLoc Where, Value *To);
  Value *takeSlowPath(Instruction *Before);
  void push(IRBuilder<> &B, Value *Context);

  Value *next(IRBuilder<> &B) { return B.CreateAdd(Position, B.getInt64(EntrySize)); }
  Value *loadContext(IRBuilder<> &B) {
    return hide(B.CreateLoad(B.getPtrTy(), B.CreateThreadLocalAddress(Variable), "tw.context"));
  }
  /// Only the limit is ever written by another thread; a stronger load would not be folded into a comparison.
  Value *load(IRBuilder<> &B, Value *Base, uint64_t Offset) {
    LoadInst *Load = B.CreateAlignedLoad(Word, at(B, Base, Offset), Align(8));
    Load->setAtomic(AtomicOrdering::Unordered);
    return hide(Load);
  }
  /// Release, so that a scanner on a weakly ordered machine sees a generation no older than the
  /// frames it finds, and frames no older than the position. On x86-64 it is a plain move.
  void store(IRBuilder<> &B, Value *What, Value *Base, uint64_t Offset) {
    StoreInst *Store = B.CreateAlignedStore(What, at(B, Base, Offset), Align(8));
    Store->setAtomic(AtomicOrdering::Release);
    hide(Store);
  }
  static Value *at(IRBuilder<> &B, Value *Base, uint64_t Offset) {
    return Offset ? B.CreateInBoundsPtrAdd(Base, B.getInt64(Offset)) : Base;
  }
  /// From sanitizers, which may run after us.
  static Instruction *hide(Instruction *I) {
    I->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(I->getContext(), {}));
    return I;
  }

  Function &F;
  Module &M;
  Type *Word;
  GlobalVariable *Variable;
  Value *Position = nullptr;
};

/// Where the entry code goes: in the entry block behind the fixed-size allocas, which count as such only
/// there, and that block is about to be split.
Instruction *beginning(BasicBlock &Entry) {
  auto Front = Entry.getFirstInsertionPt();
  for (Instruction &I : make_early_inc_range(Entry)) {
    auto *Alloca = dyn_cast<AllocaInst>(&I);
    if (!Alloca || !Alloca->isStaticAlloca())
      continue;
    if (&*Front == Alloca)
      ++Front;
    else
      Alloca->moveBefore(Front);
  }
  return &*Front;
}

void FrameBuilder::enter(BasicBlock &Head) {
  Instruction *Start = beginning(Head);
  IRBuilder<> B(Start);
  // Without a location, so that a debugger's breakpoint still stops at the first statement.
  B.SetCurrentDebugLocation(DebugLoc());
  Value *Context = loadContext(B), *Found = load(B, Context, 0);
  Value *Full = B.CreateICmpUGE(Found, load(B, Context, ContextLimit));
  MDNode *Rarely = MDBuilder(F.getContext()).createBranchWeights(1, 1 << 20);
  Instruction *Cold = SplitBlockAndInsertIfThen(Full, Start, /*Unreachable=*/false, Rarely);
  BasicBlock *Fast = cast<Instruction>(Full)->getParent();
  Value *Given = takeSlowPath(Cold);
  IRBuilder<> ColdBuilder(Cold);
  ColdBuilder.SetCurrentDebugLocation(DebugLoc());
  Value *Registered = loadContext(ColdBuilder);

  BasicBlock *Body = Start->getParent();
  B.SetInsertPoint(Body, Body->begin());
  B.SetCurrentDebugLocation(DebugLoc());
  auto Either = [&](Value *OnFast, Value *OnCold) {
    PHINode *Phi = B.CreatePHI(OnFast->getType(), 2);
    Phi->addIncoming(OnFast, Fast);
    Phi->addIncoming(OnCold, Cold->getParent());
    return Phi;
  };
  Value *Chosen = Either(Context, Registered);
  Position = Either(Found, Given);
  B.SetInsertPoint(Start);
  B.SetCurrentDebugLocation(DebugLoc());
  push(B, Chosen);
}

void FrameBuilder::push(IRBuilder<> &B, Value *Context) {
  Value *Generation = B.CreateAdd(load(B, Context, ContextGeneration), B.getInt64(1));
  store(B, Generation, Context, ContextGeneration);
  Value *Entry = B.CreateIntToPtr(Position, B.getPtrTy());
  store(B, describe(F), Entry, 0);
  store(B, Generation, Entry, EntryGeneration);
  store(B, next(B), Context, 0);
}

Value *FrameBuilder::takeSlowPath(Instruction *Before) {
  IRBuilder<> B(Before);
  // A call in a function with debug information must have a location, if only "compiler-made".
  if (DISubprogram *Program = F.getSubprogram())
    B.SetCurrentDebugLocation(DILocation::get(F.getContext(), 0, 0, Program));
  CallInst *Call = B.CreateCall(slowPath(M));
  Call->setCallingConv(CallingConv::PreserveMost);
  return Call;
}

void FrameBuilder::setPosition(Instruction *Before, DebugLoc Where, Value *To) {
  IRBuilder<> B(Before);
  B.SetCurrentDebugLocation(Where);
  store(B, To, loadContext(B), 0);
}

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

struct Places {
  SmallVector<Instruction *, 4> Leaves, Links;
};

void linkAfter(CallBase &Call, Places &Found) {
  if (auto *Invoke = dyn_cast<InvokeInst>(&Call))
    Found.Links.push_back(&*Invoke->getNormalDest()->getFirstInsertionPt());
  else if (!Call.isTerminator() && !Call.isMustTailCall())
    Found.Links.push_back(Call.getNextNode());
}

/// The places are found before anything is inserted.
Places findPlaces(Function &F, const Region &Framed) {
  bool NoTailCalls =
      KeepTailCallers || F.getFnAttribute("disable-tail-calls").getValueAsBool();
  Places Found;
  for (BasicBlock *Last : Framed.Last)
    Found.Leaves.push_back(Last->getTerminator());
  for (BasicBlock *Block : Framed.Blocks) {
    Instruction *End = Block->getTerminator();
    if (isa<ReturnInst>(End)) {
      auto *Call = dyn_cast_or_null<CallInst>(End->getPrevNode());
      CallInst *Must = Block->getTerminatingMustTailCall();
      if (Must)
        Call = Must;
      Found.Leaves.push_back(Call && isTailCall(*Call, NoTailCalls) ? Call : End);
    } else if (isa<ResumeInst>(End)) {
      Found.Leaves.push_back(End);
    }
    if (Block->isLandingPad())
      Found.Links.push_back(&*Block->getFirstInsertionPt());
    for (Instruction &I : *Block)
      if (auto *Call = dyn_cast<CallBase>(&I); Call && returnsTwice(*Call))
        linkAfter(*Call, Found);
  }
  return Found;
}

} // namespace

void tailwater::pushFrame(Function &F) {
  F.addFnAttr(Done);
  Region Framed = wantsWhole() ? wholeOf(F) : slowPartOf(F);
  if (!Framed.Head)
    return;
  Places Found = findPlaces(F, Framed);
  FrameBuilder Frame(F);
  Frame.enter(*Framed.Head);
  // Links first: where a block is both (a landing pad that resumes at once), leaving comes last.
  for (Instruction *I : Found.Links)
    Frame.linkBefore(*I);
  for (Instruction *I : Found.Leaves)
    Frame.leaveBefore(*I);
}
