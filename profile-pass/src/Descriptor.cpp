#include "Descriptor.h"
#include "Names.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace tailwater;

namespace {

/// A private string that the linker merges with its equals. It is not in the function's comdat: where
/// that is dropped, the string is one that another copy uses.
Constant *text(Module &M, StringRef Text) {
  Constant *Bytes = ConstantDataArray::getString(M.getContext(), Text);
  auto *Global = new GlobalVariable(M, Bytes->getType(), /*isConstant=*/true,
                                    GlobalValue::PrivateLinkage, Bytes, "tw.text");
  Global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  Global->setAlignment(Align(1));
  return Global;
}

/// One copy of the file's name serves all functions of a module that lie in it.
Constant *fileText(Module &M, StringRef File) {
  std::string Name = ("tw.file." + File).str();
  if (GlobalVariable *Known = M.getGlobalVariable(Name, /*AllowInternal=*/true))
    return Known;
  Constant *Made = text(M, File);
  Made->setName(Name);
  return Made;
}

} // namespace

GlobalVariable *tailwater::describe(Function &F) {
  Module &M = *F.getParent();
  LLVMContext &C = M.getContext();
  DISubprogram *Program = F.getSubprogram();
  StringRef File = Program ? Program->getFilename() : StringRef(M.getSourceFileName());
  Type *Half = Type::getInt32Ty(C);
  Constant *Flags = ConstantInt::get(Half, 0);
  Constant *Fields = ConstantStruct::getAnon(
      {&F, text(M, F.getName()), fileText(M, File),
       ConstantInt::get(Half, Program ? Program->getLine() : 0), Flags});
  // Writable: it is relocated, and the runtime filter sets its flags.
  auto *Global = new GlobalVariable(M, Fields->getType(), /*isConstant=*/false,
                                    GlobalValue::PrivateLinkage, Fields, "tw.desc");
  Global->setSection(DescriptorSection);
  Global->setAlignment(Align(8));
  if (Comdat *Group = F.getComdat())
    Global->setComdat(Group);
  // A section of its own, tied to the function's, so that the linker can still drop both.
  Global->setMetadata(LLVMContext::MD_associated, MDNode::get(C, ValueAsMetadata::get(&F)));
  return Global;
}

void tailwater::stampVersion(Module &M) {
  std::string Name = ("tw.abi." + Twine(TW_PROFILE_ABI)).str();
  if (M.getNamedValue(Name))
    return;
  Type *Word = Type::getInt32Ty(M.getContext());
  // Modules of one version share one, those of another add theirs.
  auto *Global = new GlobalVariable(M, Word, /*isConstant=*/true, GlobalValue::LinkOnceODRLinkage,
                                    ConstantInt::get(Word, TW_PROFILE_ABI), Name);
  Global->setVisibility(GlobalValue::HiddenVisibility);
  Global->setComdat(M.getOrInsertComdat(Name));
  Global->setSection(VersionSection);
  Global->setAlignment(Align(4));
  // Nothing refers to it but the section's ends, which do not keep it.
  appendToUsed(M, {Global});
}
