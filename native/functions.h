// The thin layer's functions, in the order of src/adapters/native-linux/binding.d.ts. Each takes checked arguments, calls the core
// once, and answers with the core's value or negative errno.
#ifndef KUBELET_NATIVE_FUNCTIONS_H_
#define KUBELET_NATIVE_FUNCTIONS_H_

#include <napi.h>

namespace kubelet {

// watch_functions.cc
Napi::Value InotifyOpen(const Napi::CallbackInfo& info);
Napi::Value InotifyAdd(const Napi::CallbackInfo& info);
Napi::Value InotifyRemove(const Napi::CallbackInfo& info);
Napi::Value KmsgOpen(const Napi::CallbackInfo& info);
Napi::Value PsiOpen(const Napi::CallbackInfo& info);
Napi::Value CgroupEventOpen(const Napi::CallbackInfo& info);
Napi::Value WatchKeepAlive(const Napi::CallbackInfo& info);
Napi::Value WatchClose(const Napi::CallbackInfo& info);

// batch_functions.cc
Napi::Value FileBatchOpen(const Napi::CallbackInfo& info);
Napi::Value FileBatchAdd(const Napi::CallbackInfo& info);
Napi::Value FileBatchAddNumbers(const Napi::CallbackInfo& info);
Napi::Value FileBatchRemove(const Napi::CallbackInfo& info);
Napi::Value FileBatchRead(const Napi::CallbackInfo& info);
Napi::Value FileBatchReadOnPool(const Napi::CallbackInfo& info);
Napi::Value FileBatchNumbersOnPool(const Napi::CallbackInfo& info);
Napi::Value FileBatchDescriptors(const Napi::CallbackInfo& info);
Napi::Value FileBatchClose(const Napi::CallbackInfo& info);

// step_functions.cc
Napi::Value FileStepsOnPool(const Napi::CallbackInfo& info);

// misc_functions.cc
Napi::Value MountOnThread(const Napi::CallbackInfo& info);
Napi::Value UnmountOnThread(const Napi::CallbackInfo& info);
Napi::Value MountRootOnThread(const Napi::CallbackInfo& info);
Napi::Value StatfsOnThread(const Napi::CallbackInfo& info);
Napi::Value StatPathOnThread(const Napi::CallbackInfo& info);
Napi::Value TreeUsageOnThread(const Napi::CallbackInfo& info);
Napi::Value TreeOwnershipOnThread(const Napi::CallbackInfo& info);
Napi::Value TreeOwnershipProgress(const Napi::CallbackInfo& info);
Napi::Value ProjectUsageOnThread(const Napi::CallbackInfo& info);
Napi::Value ProjectQuotaOnThread(const Napi::CallbackInfo& info);
Napi::Value ProjectAssignOnThread(const Napi::CallbackInfo& info);
Napi::Value ProjectLimitOnThread(const Napi::CallbackInfo& info);
Napi::Value OpenBeneathRoot(const Napi::CallbackInfo& info);
Napi::Value CloseDescriptor(const Napi::CallbackInfo& info);
Napi::Value SdNotifySend(const Napi::CallbackInfo& info);
Napi::Value FlockTry(const Napi::CallbackInfo& info);
Napi::Value LimitGet(const Napi::CallbackInfo& info);
Napi::Value LimitSet(const Napi::CallbackInfo& info);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_FUNCTIONS_H_
