// Thin layer: descriptors on the event loop.
#include <cerrno>

#include "arguments.h"
#include "environment.h"
#include "functions.h"
#include "inotify.h"
#include "kmsg.h"
#include "values.h"

namespace kubelet {

namespace {

// How much one wake-up may take before the loop gets its turn again; the poll is level-triggered, so the rest follows at once.
constexpr size_t kInotifyBytesPerWake = 256 * 1024;
constexpr size_t kKmsgRecordsPerWake = 512;

Napi::Value Started(Arguments& arguments, UniqueFd fd, int events, WatchReader reader, Napi::Function callback) {
  Environment* environment = Environment::Of(arguments.env());
  int32_t handle = 0;
  int status = Watch::Start(std::make_unique<Watch>(environment, std::move(fd), std::move(reader)), events, callback, &handle);
  return Napi::Number::New(arguments.env(), status < 0 ? status : handle);
}

WatchArguments ReadInotify(napi_env env, int fd, int status, bool* ended) {
  InotifyBatch batch;
  if (status == 0) status = DrainInotify(fd, kInotifyBytesPerWake, &batch);
  *ended = status < 0;
  if (batch.names.empty() && !batch.lost && status == 0) return {};
  napi_value records = TypedArrayValue(env, napi_int32_array, batch.records.data(), batch.records.size(), sizeof(int32_t));
  return {records, StringArrayValue(env, batch.names), BooleanValue(env, batch.lost), NumberValue(env, status)};
}

WatchArguments ReadKmsg(napi_env env, int fd, int status, bool* ended) {
  KmsgBatch batch;
  if (status == 0) status = DrainKmsg(KmsgReadFrom(fd), kKmsgRecordsPerWake, &batch);
  *ended = status < 0;
  if (batch.records.empty() && batch.overruns == 0 && status == 0) return {};
  return {StringArrayValue(env, batch.records), NumberValue(env, batch.overruns), NumberValue(env, status)};
}

WatchArguments ReadPsi(napi_env env, int fd, int status, bool* ended) {
  if (status == 0 && PsiTriggerIsDead(fd)) status = -ENODEV;
  *ended = status < 0;
  return {NumberValue(env, status)};
}

WatchArguments ReadCgroupEvent(napi_env env, int fd, int status, bool* ended) {
  uint64_t count = 0;
  if (status == 0) status = DrainEventFd(fd, &count);
  *ended = status < 0;
  if (count == 0 && status == 0) return {};
  return {NumberValue(env, status)};
}

}  // namespace

Napi::Value InotifyOpen(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "inotifyOpen");
  Napi::Function callback = arguments.Function("onBatch");
  if (!arguments.ok()) return Napi::Value();
  UniqueFd fd;
  int status = OpenInotify(&fd);
  if (status < 0) return Napi::Number::New(info.Env(), status);
  return Started(arguments, std::move(fd), UV_READABLE, ReadInotify, callback);
}

Napi::Value InotifyAdd(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "inotifyAdd");
  int32_t handle = arguments.Int32("handle");
  std::string path = arguments.Text("path");
  uint32_t mask = arguments.Uint32("mask");
  if (!arguments.ok()) return Napi::Value();
  Watch* watch = Environment::Of(info.Env())->FindWatch(handle);
  return Napi::Number::New(info.Env(), watch == nullptr ? -EBADF : AddInotifyWatch(watch->fd(), path, mask));
}

Napi::Value InotifyRemove(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "inotifyRemove");
  int32_t handle = arguments.Int32("handle");
  int32_t wd = arguments.Int32("wd");
  if (!arguments.ok()) return Napi::Value();
  Watch* watch = Environment::Of(info.Env())->FindWatch(handle);
  return Napi::Number::New(info.Env(), watch == nullptr ? -EBADF : RemoveInotifyWatch(watch->fd(), wd));
}

Napi::Value KmsgOpen(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "kmsgOpen");
  std::string path = arguments.Text("path");
  bool from_oldest = arguments.Boolean("fromOldest");
  Napi::Function callback = arguments.Function("onBatch");
  if (!arguments.ok()) return Napi::Value();
  UniqueFd fd;
  int status = OpenKmsg(path, from_oldest, &fd);
  if (status < 0) return Napi::Number::New(info.Env(), status);
  return Started(arguments, std::move(fd), UV_READABLE, ReadKmsg, callback);
}

Napi::Value PsiOpen(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "psiOpen");
  std::string path = arguments.Text("path");
  std::string trigger = arguments.Text("trigger");
  Napi::Function callback = arguments.Function("onEvent");
  if (!arguments.ok()) return Napi::Value();
  UniqueFd fd;
  int status = OpenPsiTrigger(path, trigger, &fd);
  if (status < 0) return Napi::Number::New(info.Env(), status);
  return Started(arguments, std::move(fd), UV_PRIORITIZED, ReadPsi, callback);
}

Napi::Value CgroupEventOpen(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "cgroupEventOpen");
  std::string control_path = arguments.Text("controlPath");
  std::string target_path = arguments.Text("targetPath");
  std::string event_arguments = arguments.Text("eventArguments");
  Napi::Function callback = arguments.Function("onEvent");
  if (!arguments.ok()) return Napi::Value();
  UniqueFd fd;
  int status = OpenCgroupEvent(control_path, target_path, event_arguments, &fd);
  if (status < 0) return Napi::Number::New(info.Env(), status);
  return Started(arguments, std::move(fd), UV_READABLE, ReadCgroupEvent, callback);
}

Napi::Value WatchKeepAlive(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "watchKeepAlive");
  int32_t handle = arguments.Int32("handle");
  bool keep = arguments.Boolean("keep");
  if (!arguments.ok()) return Napi::Value();
  Watch* watch = Environment::Of(info.Env())->FindWatch(handle);
  if (watch == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  watch->SetKeepsAlive(keep);
  return Napi::Number::New(info.Env(), 0);
}

Napi::Value WatchClose(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "watchClose");
  int32_t handle = arguments.Int32("handle");
  if (!arguments.ok()) return Napi::Value();
  Watch* watch = Environment::Of(info.Env())->FindWatch(handle);
  if (watch == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  watch->Close();
  return Napi::Number::New(info.Env(), 0);
}

}  // namespace kubelet
