// Resources of the addon in one JavaScript environment (the main thread or a worker): watches, batches, descriptors, pool work.
// Handles are numbers from a process-wide counter, so a stale or foreign one gets -EBADF and can't reach memory.
// Invariant: all of it is released before the environment is gone. One async cleanup hook closes the watches; it is finished
// when their uv handles are closed and no pool work is left, and only then the Environment is deleted.
#ifndef KUBELET_NATIVE_ENVIRONMENT_H_
#define KUBELET_NATIVE_ENVIRONMENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <napi.h>
#include <set>
#include <string>
#include <unordered_map>
#include <uv.h>
#include <vector>

#include "fd_watch.h"
#include "file_batch.h"

namespace kubelet {

// True for napi_ok; false when JavaScript can't run any more (the environment is ending). Any other status is a programmer error
// that would lose events silently, so it ends the process with the place named.
bool CheckStatus(napi_status status, const char* where);

// Arguments for the callback of a watch; empty without an event. A null among them: JavaScript has ended.
using WatchArguments = std::vector<napi_value>;

// Turns readiness into arguments. `status` is 0 or a negative errno from the loop; `*ended` set to true closes the watch after the call.
using WatchReader = std::function<WatchArguments(napi_env env, int fd, int status, bool* ended)>;

class Environment;

// One descriptor on the event loop: one uv_poll_t, no thread. Lives until its uv handle is closed.
class Watch {
 public:
  Watch(Environment* environment, UniqueFd fd, WatchReader reader);

  // 0, or a negative errno; after a failure the watch has deleted itself.
  static int Start(std::unique_ptr<Watch> watch, int events, Napi::Function callback, int32_t* handle);
  // Stops at once; deletes itself when the loop has released it. May be called from within its own callback.
  void Close();
  void SetKeepsAlive(bool keep);
  int fd() const { return fd_.get(); }

 private:
  static void OnPoll(uv_poll_t* poll, int status, int events);
  static void OnClosed(uv_handle_t* poll);
  void Deliver(int status);

  Environment* environment_;
  UniqueFd fd_;
  WatchReader reader_;
  uv_poll_t poll_{};
  int32_t handle_ = 0;
  Napi::FunctionReference callback_;
  std::unique_ptr<Napi::AsyncContext> context_;
};

class Environment {
 public:
  // Creates it for this environment and registers its cleanup; false with a pending exception on failure.
  static bool Create(Napi::Env env);
  static Environment* Of(Napi::Env env) { return env.GetInstanceData<Environment>(); }

  explicit Environment(napi_env env) : env_(env) {}

  napi_env env() const { return env_; }
  uv_loop_t* loop() const { return loop_; }
  static int32_t NextHandle();

  Watch* FindWatch(int32_t handle) const;
  std::shared_ptr<FileBatch> FindBatch(int32_t handle) const;
  int32_t AddBatch(std::shared_ptr<FileBatch> batch);
  bool RemoveBatch(int32_t handle) { return batches_.erase(handle) != 0; }

  // Descriptors handed to JavaScript as numbers; closed here if it never gives them back.
  int HandOut(UniqueFd fd);
  int TakeBack(int fd);

  // Runs `work` on libuv's pool, then resolves the promise with what `result` makes. An empty value and -EAGAIN in `*status`
  // when kPoolWorkMax are outstanding. JavaScript's memory isn't touched on the pool.
  Napi::Value RunOnPool(std::function<void()> work, std::function<napi_value(napi_env)> result, int* status);
  static constexpr int kPoolWorkMax = 64;

  // The same on a thread of its own, for work that may wait for ever: it holds up neither the pool nor the end of the environment, which
  // leaves such a thread to itself. -EAGAIN when kThreadsMax are outstanding.
  Napi::Value RunOnThread(std::function<void()> work, std::function<napi_value(napi_env)> result, int* status);
  static constexpr int kThreadsMax = 64;

  // How far walks for a group are, by their paths; a second walk of the same path takes the place of the first. As many as there are threads.
  std::shared_ptr<std::atomic<uint64_t>> BeginWalk(const std::string& path);
  void EndWalk(const std::string& path, const std::shared_ptr<std::atomic<uint64_t>>& walk);
  // Entries dealt with; negative errno without such a walk.
  int64_t WalkProgress(const std::string& path) const;

 private:
  friend class Watch;
  struct PoolWork;
  struct ThreadWork;
  struct ThreadResults;

  static void OnThreadResults(uv_async_t* async);
  static void OnThreadResultsClosed(uv_handle_t* async);
  bool OpenThreadResults();

  static void OnCleanup(napi_async_cleanup_hook_handle hook, void* argument);
  void FinishCleanup();

  napi_env env_;
  uv_loop_t* loop_ = nullptr;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  bool ending_ = false;
  // Watches whose uv handle isn't closed yet, those being closed included.
  int open_polls_ = 0;
  int pool_work_ = 0;
  // Null until the first thread, and again when the environment is ending.
  std::shared_ptr<ThreadResults> thread_results_;
  bool thread_results_open_ = false;
  int threads_ = 0;
  std::unordered_map<int32_t, Watch*> watches_;
  std::unordered_map<int32_t, std::shared_ptr<FileBatch>> batches_;
  std::set<int> descriptors_;
  std::unordered_map<std::string, std::shared_ptr<std::atomic<uint64_t>>> walks_;
};

}  // namespace kubelet

#endif  // KUBELET_NATIVE_ENVIRONMENT_H_
