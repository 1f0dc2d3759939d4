// The plugin: where in the compiler's and the linker's work functions are instrumented.
//
// It runs last, after inlining: what was inlined costs nothing and is not a call. Where link-time
// optimisation follows, the compiler does nothing and the linker, loading the same plugin, does all.

#include "Descriptor.h"
#include "Selection.h"
#include "ShadowStack.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace tailwater;

namespace {

/// The runtime exists for these; a compiler invoked for a graphics card is left alone.
bool isSupported(const Triple &Target) {
  return Target.isOSBinFormatELF() && (Target.getArch() == Triple::x86_64 || Target.isAArch64(64));
}

/// Of a clocked function each call is timed, so each must be one.
class KeepClockedPass : public PassInfoMixin<KeepClockedPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (!isSupported(M.getTargetTriple()))
      return PreservedAnalyses::all();
    auto Clocked = Filter::clocked();
    // The other pass complains.
    if (!Clocked) {
      consumeError(Clocked.takeError());
      return PreservedAnalyses::all();
    }
    for (Function &F : M)
      if (!Clocked->isEmpty() && !F.isDeclaration() && Clocked->includes(F)) {
        F.removeFnAttr(Attribute::AlwaysInline);
        F.addFnAttr(Attribute::NoInline);
      }
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

class ProfilePass : public PassInfoMixin<ProfilePass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (!isSupported(M.getTargetTriple()))
      return PreservedAnalyses::all();
    auto Names = Filter::fromOptions(), Clocked = Filter::clocked();
    for (auto *Rules : {&Names, &Clocked})
      if (!*Rules) {
        std::string Why = toString(Rules->takeError());
        M.getContext().diagnose(DiagnosticInfoGeneric(Why, DS_Error));
      }
    if (!Names || !Clocked)
      return PreservedAnalyses::all();
    return pushFrames(M, *Names, *Clocked) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

  /// Otherwise functions that are not to be optimised would be passed over.
  static bool isRequired() { return true; }

private:
  static bool pushFrames(Module &M, const Filter &Names, const Filter &Clocked) {
    Selection Selected(M, Names);
    SmallVector<Function *, 64> Chosen;
    for (Function &F : M)
      if (Selected.includes(F))
        Chosen.push_back(&F);
    for (Function *F : Chosen)
      pushFrame(*F, Clocked.isEmpty()        ? Clocking::None
                    : Clocked.includes(*F) ? Clocking::Own
                                           : Clocking::Others);
    if (!Chosen.empty())
      stampVersion(M);
    return !Chosen.empty();
  }
};

bool precedesLinkTimeOptimisation(ThinOrFullLTOPhase Phase) {
  return Phase == ThinOrFullLTOPhase::ThinLTOPreLink || Phase == ThinOrFullLTOPhase::FullLTOPreLink;
}

void keepClocked(ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(KeepClockedPass()); }

void registerPasses(PassBuilder &Builder) {
  Builder.registerPipelineStartEPCallback(keepClocked);
  // What another compiler wrote comes here first.
  Builder.registerFullLinkTimeOptimizationEarlyEPCallback(keepClocked);
  Builder.registerOptimizerLastEPCallback(
      [](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase Phase) {
        if (!precedesLinkTimeOptimisation(Phase))
          Passes.addPass(ProfilePass());
      });
  Builder.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &Passes, OptimizationLevel) { Passes.addPass(ProfilePass()); });
  // For `opt -passes=tailwater-profile`.
  Builder.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (Name != "tailwater-profile")
          return false;
        Passes.addPass(ProfilePass());
        return true;
      });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "tailwater-profile", "1", registerPasses, nullptr};
}
