// The addon's table. Same names and same order as src/adapters/native-linux/binding.d.ts, so that the two can be read side by side.
#include <napi.h>

#include "environment.h"
#include "functions.h"

namespace kubelet {

// Raised with every change of a signature; the loader refuses another number.
constexpr int kAbi = 6;

Napi::Object Initialise(Napi::Env env, Napi::Object exports) {
  if (!Environment::Create(env)) return exports;
  struct Row {
    const char* name;
    Napi::Value (*function)(const Napi::CallbackInfo&);
  };
  static const Row kTable[] = {
      {"inotifyOpen", InotifyOpen},
      {"inotifyAdd", InotifyAdd},
      {"inotifyRemove", InotifyRemove},
      {"kmsgOpen", KmsgOpen},
      {"psiOpen", PsiOpen},
      {"cgroupEventOpen", CgroupEventOpen},
      {"watchKeepAlive", WatchKeepAlive},
      {"watchClose", WatchClose},
      {"fileBatchOpen", FileBatchOpen},
      {"fileBatchAdd", FileBatchAdd},
      {"fileBatchAddNumbers", FileBatchAddNumbers},
      {"fileBatchRemove", FileBatchRemove},
      {"fileBatchRead", FileBatchRead},
      {"fileBatchReadOnPool", FileBatchReadOnPool},
      {"fileBatchNumbersOnPool", FileBatchNumbersOnPool},
      {"fileBatchDescriptors", FileBatchDescriptors},
      {"fileBatchClose", FileBatchClose},
      {"fileStepsOnPool", FileStepsOnPool},
      {"mount", MountOnThread},
      {"unmount", UnmountOnThread},
      {"mountRoot", MountRootOnThread},
      {"statfs", StatfsOnThread},
      {"statPath", StatPathOnThread},
      {"treeUsage", TreeUsageOnThread},
      {"treeOwnership", TreeOwnershipOnThread},
      {"treeOwnershipProgress", TreeOwnershipProgress},
      {"projectUsage", ProjectUsageOnThread},
      {"projectQuota", ProjectQuotaOnThread},
      {"projectAssign", ProjectAssignOnThread},
      {"projectLimit", ProjectLimitOnThread},
      {"openBeneath", OpenBeneathRoot},
      {"closeDescriptor", CloseDescriptor},
      {"sdNotify", SdNotifySend},
      {"flockTry", FlockTry},
      {"limitGet", LimitGet},
      {"limitSet", LimitSet},
  };
  exports.Set("abi", Napi::Number::New(env, kAbi));
  for (const Row& row : kTable) exports.Set(row.name, Napi::Function::New(env, row.function, row.name));
  return exports;
}

}  // namespace kubelet

static Napi::Object Init(Napi::Env env, Napi::Object exports) { return kubelet::Initialise(env, exports); }

NODE_API_MODULE(kubelet_native, Init)
