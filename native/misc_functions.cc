// Thin layer: mounts and statfs on the pool (either may wait for a server), and the single system calls.
#include <cerrno>

#include "arguments.h"
#include "environment.h"
#include "functions.h"
#include "misc.h"
#include "mount.h"
#include "path_resolve.h"
#include "values.h"

namespace kubelet {

namespace {

// A system call on the pool that answers a number.
Napi::Value StatusOnPool(Napi::Env env, std::function<int()> call) {
  auto outcome = std::make_shared<int>(0);
  int status = 0;
  Napi::Value promise = Environment::Of(env)->RunOnPool(
      [outcome, call = std::move(call)] { *outcome = call(); }, [outcome](napi_env done) { return NumberValue(done, *outcome); }, &status);
  return status < 0 ? Napi::Number::New(env, status) : promise;
}

}  // namespace

Napi::Value MountOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "mount");
  std::string source = arguments.Text("source");
  std::string target = arguments.Text("target");
  std::string type = arguments.Text("type");
  uint32_t flags = arguments.Uint32("flags");
  std::string data = arguments.Text("data");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnPool(info.Env(), [=] { return Mount(source, target, type, flags, data); });
}

Napi::Value UnmountOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "unmount");
  std::string target = arguments.Text("target");
  uint32_t flags = arguments.Uint32("flags");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnPool(info.Env(), [=] { return Unmount(target, static_cast<int>(flags)); });
}

Napi::Value MountRootOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "mountRoot");
  std::string path = arguments.Text("path");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnPool(info.Env(), [=] { return IsMountRoot(path); });
}

Napi::Value StatfsOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "statfs");
  std::string path = arguments.Text("path");
  if (!arguments.ok()) return Napi::Value();
  struct Outcome {
    int status = 0;
    FilesystemFigures figures{};
  };
  auto outcome = std::make_shared<Outcome>();
  int status = 0;
  Napi::Value promise = Environment::Of(info.Env())
                            ->RunOnPool([outcome, path] { outcome->status = StatFilesystem(path, &outcome->figures); },
                                        [outcome](napi_env env) {
                                          if (outcome->status < 0) return NumberValue(env, outcome->status);
                                          const FilesystemFigures& it = outcome->figures;
                                          return BigUint64ArrayValue(env, {it.type, it.block_bytes, it.blocks, it.blocks_free, it.blocks_available, it.files, it.files_free, it.flags});
                                        },
                                        &status);
  return status < 0 ? Napi::Number::New(info.Env(), status) : promise;
}

Napi::Value OpenBeneathRoot(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "openBeneath");
  int32_t root_fd = arguments.Int32("rootFd");
  std::string path = arguments.Text("path");
  uint32_t flags = arguments.Uint32("flags");
  uint32_t mode = arguments.Uint32("mode");
  uint32_t resolve = arguments.Uint32("resolve");
  if (!arguments.ok()) return Napi::Value();
  // AT_FDCWD and its like would make the process's directory the root.
  if (root_fd < 0) return Napi::Number::New(info.Env(), -EBADF);
  UniqueFd fd;
  int status = OpenBeneath(root_fd, path, static_cast<int>(flags), static_cast<mode_t>(mode), resolve, &fd);
  return Napi::Number::New(info.Env(), status < 0 ? status : Environment::Of(info.Env())->HandOut(std::move(fd)));
}

Napi::Value CloseDescriptor(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "closeDescriptor");
  int32_t fd = arguments.Int32("fd");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), Environment::Of(info.Env())->TakeBack(fd));
}

Napi::Value SdNotifySend(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "sdNotify");
  std::string socket_path = arguments.Text("socketPath");
  std::string state = arguments.Text("state");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), SdNotify(socket_path, state));
}

Napi::Value FlockTry(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "flockTry");
  int32_t fd = arguments.Int32("fd");
  bool lock = arguments.Boolean("lock");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), Flock(fd, lock));
}

Napi::Value LimitGet(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "limitGet");
  int32_t resource = arguments.Int32("resource");
  if (!arguments.ok()) return Napi::Value();
  uint64_t soft = 0;
  uint64_t hard = 0;
  int status = GetLimit(resource, &soft, &hard);
  if (status < 0) return Napi::Number::New(info.Env(), status);
  return Napi::Value(info.Env(), BigUint64ArrayValue(info.Env(), {soft, hard}));
}

Napi::Value LimitSet(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "limitSet");
  int32_t resource = arguments.Int32("resource");
  uint64_t soft = arguments.Uint64("soft");
  uint64_t hard = arguments.Uint64("hard");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), SetLimit(resource, soft, hard));
}

}  // namespace kubelet
