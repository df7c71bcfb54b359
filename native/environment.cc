#include "environment.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <pthread.h>

namespace kubelet {

namespace {

// A walk has kTreeLevelsMax frames of some hundred bytes, and no more; the default of 8 MiB would be mapped for each thread.
constexpr size_t kThreadStackBytes = 512 * 1024;

}  // namespace

bool CheckStatus(napi_status status, const char* where) {
  if (status == napi_ok) return true;
  if (status == napi_pending_exception || status == napi_cannot_run_js) return false;
  napi_fatal_error(where, NAPI_AUTO_LENGTH, "unexpected Node-API status", NAPI_AUTO_LENGTH);
  return false;
}

Watch::Watch(Environment* environment, UniqueFd fd, WatchReader reader) : environment_(environment), fd_(std::move(fd)), reader_(std::move(reader)) {}

int Watch::Start(std::unique_ptr<Watch> watch, int events, Napi::Function callback, int32_t* handle) {
  Environment* environment = watch->environment_;
  if (environment->ending_) return -ECANCELED;
  int status = uv_poll_init(environment->loop_, &watch->poll_, watch->fd_.get());
  if (status < 0) return status;
  // From here on the loop knows the handle: only its close callback may free the memory.
  Watch* self = watch.release();
  environment->open_polls_++;
  self->poll_.data = self;
  status = uv_poll_start(&self->poll_, events, OnPoll);
  if (status < 0) {
    self->Close();
    return status;
  }
  uv_unref(reinterpret_cast<uv_handle_t*>(&self->poll_));
  self->callback_ = Napi::Persistent(callback);
  self->context_ = std::make_unique<Napi::AsyncContext>(callback.Env(), "KUBELETWATCH");
  self->handle_ = Environment::NextHandle();
  environment->watches_[self->handle_] = self;
  *handle = self->handle_;
  return 0;
}

void Watch::Close() {
  auto* handle = reinterpret_cast<uv_handle_t*>(&poll_);
  if (uv_is_closing(handle)) return;
  environment_->watches_.erase(handle_);
  // uv_close takes the descriptor out of the loop now; it may be closed only after that.
  uv_close(handle, OnClosed);
}

void Watch::SetKeepsAlive(bool keep) {
  auto* handle = reinterpret_cast<uv_handle_t*>(&poll_);
  if (keep) {
    uv_ref(handle);
  } else {
    uv_unref(handle);
  }
}

void Watch::OnClosed(uv_handle_t* poll) {
  auto* self = static_cast<Watch*>(poll->data);
  Environment* environment = self->environment_;
  {
    Napi::HandleScope scope(environment->env_);
    delete self;
  }
  environment->open_polls_--;
  environment->FinishCleanup();
}

void Watch::OnPoll(uv_poll_t* poll, int status, int events) { static_cast<Watch*>(poll->data)->Deliver(status); }

void Watch::Deliver(int status) {
  napi_env env = environment_->env_;
  Napi::HandleScope scope(env);
  bool ended = false;
  WatchArguments arguments = reader_(env, fd_.get(), status, &ended);
  // libuv stops a poll that failed, and one that ended would fire for ever: closed before the call, so that the callback sees it closed.
  if (ended) Close();
  if (arguments.empty() || std::find(arguments.begin(), arguments.end(), nullptr) != arguments.end()) return;
  napi_value global;
  if (!CheckStatus(napi_get_global(env, &global), "Watch::Deliver: receiver")) return;
  napi_status called = napi_make_callback(env, *context_, global, callback_.Value(), arguments.size(), arguments.data(), nullptr);
  if (CheckStatus(called, "Watch::Deliver")) return;
  // An exception of the callback becomes an uncaught exception, as from any other event. A worker that is being terminated has none.
  bool pending = false;
  if (!CheckStatus(napi_is_exception_pending(env, &pending), "Watch::Deliver: pending") || !pending) return;
  napi_value error;
  if (!CheckStatus(napi_get_and_clear_last_exception(env, &error), "Watch::Deliver: exception")) return;
  CheckStatus(napi_fatal_exception(env, error), "Watch::Deliver: uncaught");
}

bool Environment::Create(Napi::Env env) {
  auto environment = std::make_unique<Environment>(env);
  if (!CheckStatus(napi_get_uv_event_loop(env, &environment->loop_), "Environment: loop")) return false;
  if (!CheckStatus(napi_add_async_cleanup_hook(env, OnCleanup, environment.get(), &environment->hook_), "Environment: hook")) return false;
  // No finalizer: the hook deletes it, when the last uv handle is closed.
  return CheckStatus(napi_set_instance_data(env, environment.release(), nullptr, nullptr), "Environment: data");
}

int32_t Environment::NextHandle() {
  static std::atomic<int32_t> next{1};
  return next.fetch_add(1);
}

Watch* Environment::FindWatch(int32_t handle) const {
  auto found = watches_.find(handle);
  return found == watches_.end() ? nullptr : found->second;
}

std::shared_ptr<FileBatch> Environment::FindBatch(int32_t handle) const {
  auto found = batches_.find(handle);
  return found == batches_.end() ? nullptr : found->second;
}

int32_t Environment::AddBatch(std::shared_ptr<FileBatch> batch) {
  int32_t handle = NextHandle();
  batches_[handle] = std::move(batch);
  return handle;
}

int Environment::HandOut(UniqueFd fd) {
  int number = fd.release();
  descriptors_.insert(number);
  return number;
}

int Environment::TakeBack(int fd) {
  if (descriptors_.erase(fd) == 0) return -EBADF;
  UniqueFd closed(fd);
  return 0;
}

struct Environment::PoolWork {
  Environment* environment;
  std::function<void()> work;
  std::function<napi_value(napi_env)> result;
  napi_async_work handle = nullptr;
  napi_deferred deferred = nullptr;

  static void Execute(napi_env, void* data) { static_cast<PoolWork*>(data)->work(); }

  static void Complete(napi_env env, napi_status status, void* data) {
    std::unique_ptr<PoolWork> self(static_cast<PoolWork*>(data));
    Environment* environment = self->environment;
    CheckStatus(napi_delete_async_work(env, self->handle), "PoolWork: delete");
    // Cancelled: the environment is ending, the promise is no longer needed.
    if (status == napi_ok) {
      Napi::HandleScope scope(env);
      napi_value value = self->result(env);
      if (value != nullptr) CheckStatus(napi_resolve_deferred(env, self->deferred, value), "PoolWork: resolve");
    }
    self.reset();
    environment->pool_work_--;
    environment->FinishCleanup();
  }
};

Napi::Value Environment::RunOnPool(std::function<void()> work, std::function<napi_value(napi_env)> result, int* status) {
  *status = 0;
  if (ending_ || pool_work_ >= kPoolWorkMax) {
    *status = ending_ ? -ECANCELED : -EAGAIN;
    return Napi::Value();
  }
  auto task = std::make_unique<PoolWork>();
  task->environment = this;
  task->work = std::move(work);
  task->result = std::move(result);
  napi_value promise;
  if (!CheckStatus(napi_create_promise(env_, &task->deferred, &promise), "RunOnPool: promise")) return Napi::Value();
  Napi::String name = Napi::String::New(env_, "KUBELETPOOLWORK");
  napi_status created = napi_create_async_work(env_, nullptr, name, PoolWork::Execute, PoolWork::Complete, task.get(), &task->handle);
  if (!CheckStatus(created, "RunOnPool: create")) return Napi::Value();
  if (!CheckStatus(napi_queue_async_work(env_, task->handle), "RunOnPool: queue")) return Napi::Value();
  task.release();
  pool_work_++;
  return Napi::Value(env_, promise);
}

struct Environment::ThreadWork {
  std::function<void()> work;
  std::function<napi_value(napi_env)> result;
  napi_deferred deferred = nullptr;
};

// State shared by threads and the environment; it outlives the one that ends first.
struct Environment::ThreadResults {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadWork>> finished;
  // False once the environment is ending: results are dropped, and `async` may be gone.
  bool wanted = true;
  uv_async_t async{};
};

bool Environment::OpenThreadResults() {
  auto results = std::make_shared<ThreadResults>();
  if (uv_async_init(loop_, &results->async, OnThreadResults) < 0) return false;
  uv_unref(reinterpret_cast<uv_handle_t*>(&results->async));
  results->async.data = this;
  thread_results_ = std::move(results);
  thread_results_open_ = true;
  return true;
}

std::shared_ptr<std::atomic<uint64_t>> Environment::BeginWalk(const std::string& path) {
  auto walk = std::make_shared<std::atomic<uint64_t>>(0);
  walks_[path] = walk;
  return walk;
}

void Environment::EndWalk(const std::string& path, const std::shared_ptr<std::atomic<uint64_t>>& walk) {
  auto found = walks_.find(path);
  if (found != walks_.end() && found->second == walk) walks_.erase(found);
}

int64_t Environment::WalkProgress(const std::string& path) const {
  auto found = walks_.find(path);
  return found == walks_.end() ? -ENOENT : static_cast<int64_t>(found->second->load(std::memory_order_relaxed));
}

Napi::Value Environment::RunOnThread(std::function<void()> work, std::function<napi_value(napi_env)> result, int* status) {
  *status = 0;
  if (ending_ || threads_ >= kThreadsMax || (thread_results_ == nullptr && !OpenThreadResults())) {
    *status = ending_ ? -ECANCELED : -EAGAIN;
    return Napi::Value();
  }
  auto task = std::make_unique<ThreadWork>();
  task->work = std::move(work);
  task->result = std::move(result);
  napi_value promise;
  if (!CheckStatus(napi_create_promise(env_, &task->deferred, &promise), "RunOnThread: promise")) return Napi::Value();
  struct Start {
    std::unique_ptr<ThreadWork> task;
    std::shared_ptr<ThreadResults> results;
  };
  auto start = std::make_unique<Start>(Start{std::move(task), thread_results_});
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kThreadStackBytes);
  pthread_t thread;
  int created = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        std::unique_ptr<Start> given(static_cast<Start*>(argument));
        given->task->work();
        std::lock_guard<std::mutex> lock(given->results->mutex);
        // A dropped result is freed with `given`, here.
        if (!given->results->wanted) return nullptr;
        given->results->finished.push_back(std::move(given->task));
        uv_async_send(&given->results->async);
        return nullptr;
      },
      start.get());
  pthread_attr_destroy(&attributes);
  if (created != 0) {
    // The promise is never returned.
    *status = -created;
    return Napi::Value();
  }
  start.release();
  threads_++;
  // What is under way keeps the process alive, as pool work does.
  uv_ref(reinterpret_cast<uv_handle_t*>(&thread_results_->async));
  return Napi::Value(env_, promise);
}

void Environment::OnThreadResults(uv_async_t* async) {
  auto* self = static_cast<Environment*>(async->data);
  std::vector<std::unique_ptr<ThreadWork>> finished;
  {
    std::lock_guard<std::mutex> lock(self->thread_results_->mutex);
    finished.swap(self->thread_results_->finished);
  }
  self->threads_ -= static_cast<int>(finished.size());
  if (self->threads_ == 0) uv_unref(reinterpret_cast<uv_handle_t*>(async));
  napi_env env = self->env_;
  Napi::HandleScope scope(env);
  // In a callback scope, so that what waits for the promises runs at its end.
  napi_value name;
  napi_async_context context;
  if (!CheckStatus(napi_create_string_utf8(env, "KUBELETTHREADWORK", NAPI_AUTO_LENGTH, &name), "ThreadWork: name")) return;
  if (!CheckStatus(napi_async_init(env, nullptr, name, &context), "ThreadWork: context")) return;
  napi_callback_scope callbacks;
  if (CheckStatus(napi_open_callback_scope(env, nullptr, context, &callbacks), "ThreadWork: scope")) {
    for (const auto& task : finished) {
      napi_value value = task->result(env);
      if (value != nullptr) CheckStatus(napi_resolve_deferred(env, task->deferred, value), "ThreadWork: resolve");
    }
    CheckStatus(napi_close_callback_scope(env, callbacks), "ThreadWork: end of the scope");
  }
  CheckStatus(napi_async_destroy(env, context), "ThreadWork: end of the context");
}

void Environment::OnThreadResultsClosed(uv_handle_t* async) {
  auto* self = static_cast<Environment*>(async->data);
  self->thread_results_open_ = false;
  self->thread_results_.reset();
  self->FinishCleanup();
}

void Environment::OnCleanup(napi_async_cleanup_hook_handle hook, void* argument) {
  auto* self = static_cast<Environment*>(argument);
  self->ending_ = true;
  // Close() erases from the map.
  while (!self->watches_.empty()) self->watches_.begin()->second->Close();
  self->batches_.clear();
  for (int fd : self->descriptors_) UniqueFd closed(fd);
  self->descriptors_.clear();
  if (self->thread_results_ != nullptr) {
    {
      std::lock_guard<std::mutex> lock(self->thread_results_->mutex);
      self->thread_results_->wanted = false;
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&self->thread_results_->async), OnThreadResultsClosed);
  }
  self->FinishCleanup();
}

void Environment::FinishCleanup() {
  if (!ending_ || open_polls_ > 0 || pool_work_ > 0 || thread_results_open_) return;
  napi_async_cleanup_hook_handle hook = hook_;
  delete this;
  CheckStatus(napi_remove_async_cleanup_hook(hook), "Environment: finish");
}

}  // namespace kubelet
