// Thin layer: mounts and file system checks, each on a thread of its own since it may wait for a server forever, and the single system calls.
#include <cerrno>

#include "arguments.h"
#include "environment.h"
#include "functions.h"
#include "misc.h"
#include "mount.h"
#include "path_resolve.h"
#include "project_quota.h"
#include "tree.h"
#include "values.h"

namespace kubelet {

namespace {

// A system call that answers a number.
Napi::Value StatusOnThread(Napi::Env env, std::function<int()> call) {
  auto outcome = std::make_shared<int>(0);
  int status = 0;
  Napi::Value promise = Environment::Of(env)->RunOnThread(
      [outcome, call = std::move(call)] { *outcome = call(); }, [outcome](napi_env done) { return NumberValue(done, *outcome); }, &status);
  return status < 0 ? Napi::Number::New(env, status) : promise;
}

// One that answers numbers, or negative errno.
Napi::Value NumbersOnThread(Napi::Env env, std::function<int()> call, std::function<napi_value(napi_env)> numbers) {
  auto outcome = std::make_shared<int>(0);
  int status = 0;
  Napi::Value promise = Environment::Of(env)->RunOnThread(
      [outcome, call = std::move(call)] { *outcome = call(); },
      [outcome, numbers = std::move(numbers)](napi_env done) { return *outcome < 0 ? NumberValue(done, *outcome) : numbers(done); }, &status);
  return status < 0 ? Napi::Number::New(env, status) : promise;
}

}  // namespace

Napi::Value MountOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "mount");
  std::string source = arguments.Text("source");
  std::string target = arguments.Text("target");
  std::string type = arguments.Text("type");
  uint32_t flags = arguments.Uint32("flags");
  std::string data = arguments.Text("data");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnThread(info.Env(), [=] { return Mount(source, target, type, flags, data); });
}

Napi::Value UnmountOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "unmount");
  std::string target = arguments.Text("target");
  uint32_t flags = arguments.Uint32("flags");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnThread(info.Env(), [=] { return Unmount(target, static_cast<int>(flags)); });
}

Napi::Value MountRootOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "mountRoot");
  std::string path = arguments.Text("path");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnThread(info.Env(), [=] { return IsMountRoot(path); });
}

Napi::Value StatfsOnThread(const Napi::CallbackInfo& info) {
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
                            ->RunOnThread([outcome, path] { outcome->status = StatFilesystem(path, &outcome->figures); },
                                        [outcome](napi_env env) {
                                          if (outcome->status < 0) return NumberValue(env, outcome->status);
                                          const FilesystemFigures& it = outcome->figures;
                                          return BigUint64ArrayValue(env, {it.type, it.block_bytes, it.blocks, it.blocks_free, it.blocks_available, it.files, it.files_free, it.flags});
                                        },
                                        &status);
  return status < 0 ? Napi::Number::New(info.Env(), status) : promise;
}

Napi::Value StatPathOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "statPath");
  std::string path = arguments.Text("path");
  bool follow = arguments.Boolean("follow");
  if (!arguments.ok()) return Napi::Value();
  auto status = std::make_shared<PathStatus>();
  return NumbersOnThread(info.Env(), [status, path, follow] { return StatPath(path, follow, status.get()); },
                         [status](napi_env env) { return BigUint64ArrayValue(env, {status->mode, status->device, status->inode, status->uid, status->gid}); });
}

Napi::Value TreeUsageOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "treeUsage");
  std::string path = arguments.Text("path");
  uint32_t entries_max = arguments.Uint32("entriesMax");
  if (!arguments.ok()) return Napi::Value();
  auto usage = std::make_shared<TreeUsage>();
  return NumbersOnThread(info.Env(), [usage, path, entries_max] { return MeasureTree(path, entries_max, usage.get()); },
                         [usage](napi_env env) { return BigUint64ArrayValue(env, {usage->bytes, usage->inodes, usage->partial ? 1u : 0u}); });
}

Napi::Value TreeOwnershipOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "treeOwnership");
  std::string path = arguments.Text("path");
  Ownership ownership{};
  ownership.gid = arguments.Uint32("gid");
  ownership.file_bits = arguments.Uint32("fileBits");
  ownership.directory_bits = arguments.Uint32("directoryBits");
  ownership.on_root_mismatch = arguments.Boolean("onRootMismatch");
  if (!arguments.ok()) return Napi::Value();
  struct Outcome {
    int status = 0;
    OwnershipOutcome walk{};
  };
  auto outcome = std::make_shared<Outcome>();
  Environment* environment = Environment::Of(info.Env());
  auto progress = environment->BeginWalk(path);
  int status = 0;
  Napi::Value promise = environment->RunOnThread(
      [outcome, path, ownership, progress] { outcome->status = SetTreeOwnership(path, ownership, &outcome->walk, progress.get()); },
      [outcome, path, progress](napi_env env) {
        Environment::Of(env)->EndWalk(path, progress);
        if (outcome->status < 0) return NumberValue(env, outcome->status);
        const OwnershipOutcome& it = outcome->walk;
        return BigUint64ArrayValue(env, {it.walked ? 1u : 0u, it.gid, it.entries, it.failures});
      },
      &status);
  if (status < 0) environment->EndWalk(path, progress);
  return status < 0 ? Napi::Number::New(info.Env(), status) : promise;
}

Napi::Value TreeOwnershipProgress(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "treeOwnershipProgress");
  std::string path = arguments.Text("path");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), static_cast<double>(Environment::Of(info.Env())->WalkProgress(path)));
}

Napi::Value ProjectUsageOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "projectUsage");
  std::string path = arguments.Text("path");
  if (!arguments.ok()) return Napi::Value();
  auto seen = std::make_shared<ProjectOfDirectory>();
  return NumbersOnThread(info.Env(), [seen, path] { return LookAtProject(path, seen.get()); }, [seen](napi_env env) {
    const ProjectQuota& quota = seen->quota;
    return BigUint64ArrayValue(env, {seen->file_system, seen->project, seen->inherits ? 1u : 0u, static_cast<uint64_t>(seen->quota_errno), quota.bytes, quota.inodes});
  });
}

Napi::Value ProjectQuotaOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "projectQuota");
  std::string path = arguments.Text("path");
  uint32_t project = arguments.Uint32("projectId");
  if (!arguments.ok()) return Napi::Value();
  auto quota = std::make_shared<ProjectQuota>();
  return NumbersOnThread(info.Env(), [quota, path, project] { return GetProjectQuota(path, project, quota.get()); },
                         [quota](napi_env env) { return BigUint64ArrayValue(env, {quota->bytes, quota->inodes, quota->limited ? 1u : 0u}); });
}

Napi::Value ProjectAssignOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "projectAssign");
  std::string path = arguments.Text("path");
  uint32_t project = arguments.Uint32("projectId");
  bool tree = arguments.Boolean("tree");
  if (!arguments.ok()) return Napi::Value();
  auto outcome = std::make_shared<ProjectOutcome>();
  return NumbersOnThread(info.Env(), [outcome, path, project, tree] { return AssignProject(path, project, tree, outcome.get()); },
                         [outcome](napi_env env) { return BigUint64ArrayValue(env, {outcome->entries, outcome->failures}); });
}

Napi::Value ProjectLimitOnThread(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "projectLimit");
  std::string path = arguments.Text("path");
  uint32_t project = arguments.Uint32("projectId");
  uint64_t kibibytes = arguments.Uint64("kibibytes");
  if (!arguments.ok()) return Napi::Value();
  return StatusOnThread(info.Env(), [=] { return LimitProject(path, project, kibibytes); });
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
