// Entry, exits and re-links, as crates/profile-rt/include/tailwater/profile_abi.h lays them down.
//
// The position found on entry is kept as an SSA value: it mostly stays in a register, and writing it
// back, rather than counting down, heals whatever frames were unwound without passing an exit.

#include "ShadowStack.h"
#include "Descriptor.h"
#include "Environment.h"
#include "Names.h"
#include "Places.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Process.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace tailwater;

namespace {

/// Every call pushes, on paths that neither call nor loop too.
bool wantsWhole() { return isSet("TAILWATER_PROFILE_WHOLE"); }

/// The program goes from one machine stack to another without telling.
bool wantsFibers() { return isSet("TAILWATER_PROFILE_FIBERS"); }

// Offsets in struct tw_context and struct tw_entry.
constexpr uint64_t ContextGeneration = 8, ContextLimit = 16, ContextLow = 40, ContextExtent = 48;
constexpr uint64_t EntryGeneration = 8, EntrySize = 16, SiteShift = 48;

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

/// What instrumented code calls of the runtime.
FunctionCallee rarelyCalled(Module &M, StringRef Name, FunctionType *Type) {
  FunctionCallee Callee = M.getOrInsertFunction(Name, Type);
  auto *F = cast<Function>(Callee.getCallee());
  if (F->isDeclaration()) {
    F->setCallingConv(CallingConv::PreserveMost);
    F->addFnAttr(Attribute::Cold);
    F->addFnAttr(Attribute::NoUnwind);
    // A lazily bound call would run the dynamic linker, which preserves fewer registers.
    F->addFnAttr(Attribute::NonLazyBind);
  }
  return Callee;
}

/// Builds one function's accesses to its thread's context.
class FrameBuilder {
public:
  FrameBuilder(Function &F, bool Fibers, Clocking Clock)
      : F(F), M(*F.getParent()), Fibers(Fibers), Clock(Clock), Word(Type::getInt64Ty(F.getContext())),
        Variable(contextVariable(M)) {}

  /// The frame is there from the beginning of \p Head on.
  void enter(BasicBlock &Head);
  /// The frame is gone before \p I.
  void leaveBefore(Instruction &I) {
    // First: a scanner that finds the frame gone finds the call told of, too.
    if (Clock == Clocking::Own)
      clock(&I, ClockedLeaveName, Type::getVoidTy(F.getContext()), {Position});
    setPosition(&I, I.getDebugLoc(), Position);
  }
  /// The frame is the innermost again from \p I on.
  void linkBefore(Instruction &I) {
    IRBuilder<> B(&I);
    Value *Next = next(B);
    if (Clock != Clocking::None)
      clock(&I, ClockedLinkName, Type::getVoidTy(F.getContext()), {Next});
    setPosition(&I, I.getDebugLoc(), Next);
  }
  /// From \p I on the thread's context is that of the machine stack that this function runs on.
  void comeBackBefore(Instruction &I);

private:
  void setPosition(Instruction *Before, DebugLoc Where, Value *To);
  Value *needsSlowPath(IRBuilder<> &B, Value *Context, Value *Position);
  Value *takeSlowPath(Instruction *Before);
  CallInst *call(Instruction *Before, StringRef Name, Type *Result, ArrayRef<Value *> Arguments);
  /// Calls what keeps the time of clocked functions, as any function in C is called.
  CallInst *clock(Instruction *Before, StringRef Name, Type *Result, ArrayRef<Value *> Arguments);
  /// Where the caller's part of the machine stack ends.
  Value *stackTop(IRBuilder<> &B) {
    Value *Address = B.CreateIntrinsic(Intrinsic::addressofreturnaddress, {B.getPtrTy()}, {});
    return B.CreatePtrToInt(Address, Word);
  }
  void push(IRBuilder<> &B, Value *Context);
  Value *what(IRBuilder<> &B);

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
  bool Fibers;
  Clocking Clock;
  Type *Word;
  GlobalVariable *Variable;
  Value *Context = nullptr, *Position = nullptr;
};

MDNode *rarely(LLVMContext &C) { return MDBuilder(C).createBranchWeights(1, 1 << 20); }

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
  Value *Loaded = loadContext(B), *Found = load(B, Loaded, 0);
  Value *Rare = needsSlowPath(B, Loaded, Found);
  Instruction *Cold =
      SplitBlockAndInsertIfThen(Rare, Start, /*Unreachable=*/false, rarely(F.getContext()));
  BasicBlock *Fast = cast<Instruction>(Rare)->getParent();
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
  Context = Either(Loaded, Registered);
  Position = Either(Found, Given);
  B.SetInsertPoint(Start);
  B.SetCurrentDebugLocation(DebugLoc());
  push(B, Context);
}

void FrameBuilder::push(IRBuilder<> &B, Value *Context) {
  Value *What = what(B);
  if (Clock == Clocking::Own)
    What = clock(&*B.GetInsertPoint(), ClockedEnterName, Word, {Position, What});
  Value *Generation = B.CreateAdd(load(B, Context, ContextGeneration), B.getInt64(1));
  store(B, Generation, Context, ContextGeneration);
  Value *Entry = B.CreateIntToPtr(Position, B.getPtrTy());
  store(B, What, Entry, 0);
  store(B, Generation, Entry, EntryGeneration);
  store(B, next(B), Context, 0);
}

/// The descriptor, and in the bits that no address has the low ones of the place that called. One word, so that
/// a scanner never sees one call's function with another's place.
Value *FrameBuilder::what(IRBuilder<> &B) {
  Value *Return = B.CreateIntrinsic(Intrinsic::returnaddress, {}, {B.getInt32(0)});
  Value *Site = B.CreateShl(B.CreatePtrToInt(Return, Word), B.getInt64(SiteShift));
  return B.CreateOr(Site, B.CreatePtrToInt(describe(F), Word));
}

Value *FrameBuilder::needsSlowPath(IRBuilder<> &B, Value *Context, Value *Position) {
  Value *Full = B.CreateICmpUGE(Position, load(B, Context, ContextLimit));
  if (!Fibers)
    return Full;
  Value *Height = B.CreateSub(stackTop(B), load(B, Context, ContextLow));
  return B.CreateOr(Full, B.CreateICmpUGE(Height, load(B, Context, ContextExtent)));
}

Value *FrameBuilder::takeSlowPath(Instruction *Before) {
  IRBuilder<> B(Before);
  if (Fibers)
    return call(Before, SlowOnStackName, Word, {stackTop(B)});
  return call(Before, SlowName, Word, {});
}

void FrameBuilder::comeBackBefore(Instruction &I) {
  IRBuilder<> B(&I);
  B.SetCurrentDebugLocation(I.getDebugLoc());
  Value *Elsewhere = B.CreateICmpNE(loadContext(B), Context);
  Instruction *Cold =
      SplitBlockAndInsertIfThen(Elsewhere, &I, /*Unreachable=*/false, rarely(F.getContext()));
  call(Cold, BackName, Type::getVoidTy(F.getContext()), {Context});
}

CallInst *FrameBuilder::call(Instruction *Before, StringRef Name, Type *Result,
                             ArrayRef<Value *> Arguments) {
  IRBuilder<> B(Before);
  // A call in a function with debug information must have a location, if only "compiler-made".
  if (DISubprogram *Program = F.getSubprogram())
    B.SetCurrentDebugLocation(DILocation::get(F.getContext(), 0, 0, Program));
  SmallVector<Type *, 1> Types;
  for (Value *Argument : Arguments)
    Types.push_back(Argument->getType());
  CallInst *Call = B.CreateCall(
      rarelyCalled(M, Name, FunctionType::get(Result, Types, /*isVarArg=*/false)), Arguments);
  Call->setCallingConv(CallingConv::PreserveMost);
  return Call;
}

CallInst *FrameBuilder::clock(Instruction *Before, StringRef Name, Type *Result,
                              ArrayRef<Value *> Arguments) {
  IRBuilder<> B(Before);
  B.SetCurrentDebugLocation(DebugLoc());
  if (DISubprogram *Program = F.getSubprogram())
    B.SetCurrentDebugLocation(DILocation::get(F.getContext(), 0, 0, Program));
  SmallVector<Type *, 2> Types(Arguments.size(), Word);
  auto Callee = M.getOrInsertFunction(Name, FunctionType::get(Result, Types, /*isVarArg=*/false));
  auto *Called = cast<Function>(Callee.getCallee());
  if (Called->isDeclaration()) {
    Called->addFnAttr(Attribute::NoUnwind);
    Called->addFnAttr(Attribute::NonLazyBind);
  }
  return B.CreateCall(Callee, Arguments);
}

void FrameBuilder::setPosition(Instruction *Before, DebugLoc Where, Value *To) {
  IRBuilder<> B(Before);
  B.SetCurrentDebugLocation(Where);
  store(B, To, Fibers ? Context : loadContext(B), 0);
}

} // namespace

void tailwater::pushFrame(Function &F, Clocking Clock) {
  F.addFnAttr(Done);
  // Of a clocked function every call is timed, the quick ones too.
  Region Framed = wantsWhole() || Clock == Clocking::Own ? wholeOf(F) : slowPartOf(F);
  if (!Framed.Head)
    return;
  bool Fibers = wantsFibers();
  Places Found = findPlaces(F, Framed);
  FrameBuilder Frame(F, Fibers, Clock);
  Frame.enter(*Framed.Head);
  if (Fibers) {
    F.setUWTableKind(UWTableKind::Async);
    for (Instruction *I : Found.Returns)
      Frame.comeBackBefore(*I);
  }
  // Links first: where a block is both (a landing pad that resumes at once), leaving comes last.
  for (Instruction *I : Found.Links)
    Frame.linkBefore(*I);
  for (Instruction *I : Found.Leaves)
    Frame.leaveBefore(*I);
}
