// Thin layer: file batches.
#include <cerrno>
#include <memory>

#include "arguments.h"
#include "environment.h"
#include "functions.h"
#include "values.h"

namespace kubelet {

namespace {

static_assert(sizeof(FileBatchItem) == 2 * sizeof(int32_t), "an item is two numbers in an Int32Array");

// Bound of one call's output, 1 GiB: a wrong item size must not become an allocation that kills the process.
constexpr size_t kOutputBytesMax = size_t{1} << 30;

// What a read on the pool works on; nothing of JavaScript's.
struct PoolRead {
  std::shared_ptr<FileBatch> batch;
  std::vector<int32_t> slots;
  size_t item_bytes_max;
  std::unique_ptr<char[]> bytes;
  std::vector<FileBatchItem> items;
  size_t written = 0;
};

struct PoolNumbers {
  std::shared_ptr<FileBatch> batch;
  std::vector<int32_t> slots;
  size_t item_bytes_max;
  std::vector<double> numbers;
  std::vector<int32_t> counts;
};

napi_value PoolNumbersResult(napi_env env, const PoolNumbers& read) {
  napi_value counts = TypedArrayValue(env, napi_int32_array, read.counts.data(), read.counts.size(), sizeof(int32_t));
  napi_value numbers = TypedArrayValue(env, napi_float64_array, read.numbers.data(), read.numbers.size(), sizeof(double));
  napi_value result;
  if (counts == nullptr || numbers == nullptr || !CheckStatus(napi_create_object(env, &result), "PoolNumbersResult")) return nullptr;
  if (!CheckStatus(napi_set_named_property(env, result, "numbers", numbers), "PoolNumbersResult: numbers")) return nullptr;
  if (!CheckStatus(napi_set_named_property(env, result, "counts", counts), "PoolNumbersResult: counts")) return nullptr;
  return result;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  size_t from = 0;
  while (from < text.size()) {
    size_t end = text.find('\n', from);
    if (end == std::string::npos) end = text.size();
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

napi_value PoolReadResult(napi_env env, const PoolRead& read) {
  napi_value items = TypedArrayValue(env, napi_int32_array, read.items.data(), read.items.size() * 2, sizeof(int32_t));
  napi_value bytes = TypedArrayValue(env, napi_uint8_array, read.bytes.get(), read.written, 1);
  napi_value result;
  if (items == nullptr || bytes == nullptr || !CheckStatus(napi_create_object(env, &result), "PoolReadResult")) return nullptr;
  if (!CheckStatus(napi_set_named_property(env, result, "bytes", bytes), "PoolReadResult: bytes")) return nullptr;
  if (!CheckStatus(napi_set_named_property(env, result, "items", items), "PoolReadResult: items")) return nullptr;
  return result;
}

}  // namespace

Napi::Value FileBatchOpen(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchOpen");
  uint32_t descriptors_max = arguments.Uint32("descriptorsMax");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), Environment::Of(info.Env())->AddBatch(std::make_shared<FileBatch>(descriptors_max)));
}

Napi::Value FileBatchAdd(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchAdd");
  int32_t handle = arguments.Int32("handle");
  std::string path = arguments.Text("path");
  if (!arguments.ok()) return Napi::Value();
  auto batch = Environment::Of(info.Env())->FindBatch(handle);
  return Napi::Number::New(info.Env(), batch == nullptr ? -EBADF : batch->Add(path));
}

Napi::Value FileBatchAddNumbers(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchAddNumbers");
  int32_t handle = arguments.Int32("handle");
  std::string path = arguments.Text("path");
  int32_t form = arguments.Int32("form");
  std::string keys = arguments.Text("keys");
  if (arguments.ok() && (form < 1 || form > kNumberFormMax)) arguments.Fail("form", "one of the forms of number-form.ts");
  if (!arguments.ok()) return Napi::Value();
  auto batch = Environment::Of(info.Env())->FindBatch(handle);
  return Napi::Number::New(info.Env(), batch == nullptr ? -EBADF : batch->AddNumbers(path, static_cast<NumberForm>(form), LinesOf(keys)));
}

Napi::Value FileBatchRemove(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchRemove");
  int32_t handle = arguments.Int32("handle");
  int32_t slot = arguments.Int32("slot");
  if (!arguments.ok()) return Napi::Value();
  auto batch = Environment::Of(info.Env())->FindBatch(handle);
  return Napi::Number::New(info.Env(), batch == nullptr ? -EBADF : batch->Remove(slot));
}

Napi::Value FileBatchRead(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchRead");
  int32_t handle = arguments.Int32("handle");
  Napi::Int32Array slots = arguments.Int32Array("slots");
  uint32_t item_bytes_max = arguments.Uint32("itemBytesMax");
  Napi::Uint8Array out = arguments.Uint8Array("out");
  Napi::Int32Array items = arguments.Int32Array("items");
  if (!arguments.ok()) return Napi::Value();
  size_t count = slots.ElementLength();
  if (out.ElementLength() / (item_bytes_max == 0 ? 1 : item_bytes_max) < count) return arguments.Fail("out", "slots.length * itemBytesMax bytes long"), Napi::Value();
  if (items.ElementLength() < count * 2) return arguments.Fail("items", "2 * slots.length numbers long"), Napi::Value();
  auto batch = Environment::Of(info.Env())->FindBatch(handle);
  if (batch == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  size_t written = batch->Read(slots.Data(), count, item_bytes_max, reinterpret_cast<char*>(out.Data()), reinterpret_cast<FileBatchItem*>(items.Data()));
  return Napi::Number::New(info.Env(), static_cast<double>(written));
}

Napi::Value FileBatchReadOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchReadOnPool");
  int32_t handle = arguments.Int32("handle");
  Napi::Int32Array slots = arguments.Int32Array("slots");
  uint32_t item_bytes_max = arguments.Uint32("itemBytesMax");
  if (!arguments.ok()) return Napi::Value();
  size_t count = slots.ElementLength();
  if (item_bytes_max != 0 && kOutputBytesMax / item_bytes_max < count) return arguments.Fail("itemBytesMax", "smaller: the whole output is bounded by 1 GiB"), Napi::Value();
  Environment* environment = Environment::Of(info.Env());
  auto batch = environment->FindBatch(handle);
  if (batch == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  auto read = std::make_shared<PoolRead>();
  read->batch = std::move(batch);
  read->slots.assign(slots.Data(), slots.Data() + count);
  read->item_bytes_max = item_bytes_max;
  int status = 0;
  Napi::Value promise = environment->RunOnPool(
      [read] {
        // Allocated here and not cleared: only the pages that are written cost anything.
        read->bytes.reset(new char[read->slots.size() * read->item_bytes_max]);
        read->items.resize(read->slots.size());
        read->written = read->batch->Read(read->slots.data(), read->slots.size(), read->item_bytes_max, read->bytes.get(), read->items.data());
      },
      [read](napi_env env) { return PoolReadResult(env, *read); }, &status);
  return status < 0 ? Napi::Number::New(info.Env(), status) : promise;
}

Napi::Value FileBatchNumbersOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchNumbersOnPool");
  int32_t handle = arguments.Int32("handle");
  Napi::Int32Array slots = arguments.Int32Array("slots");
  uint32_t item_bytes_max = arguments.Uint32("itemBytesMax");
  if (!arguments.ok()) return Napi::Value();
  if (item_bytes_max > kOutputBytesMax) return arguments.Fail("itemBytesMax", "smaller: an item is bounded by 1 GiB"), Napi::Value();
  Environment* environment = Environment::Of(info.Env());
  auto batch = environment->FindBatch(handle);
  if (batch == nullptr) return Napi::Number::New(info.Env(), -EBADF);
  auto read = std::make_shared<PoolNumbers>();
  read->batch = std::move(batch);
  read->slots.assign(slots.Data(), slots.Data() + slots.ElementLength());
  read->item_bytes_max = item_bytes_max;
  int status = 0;
  Napi::Value promise = environment->RunOnPool(
      [read] {
        read->counts.resize(read->slots.size());
        read->batch->ReadNumbers(read->slots.data(), read->slots.size(), read->item_bytes_max, &read->numbers, read->counts.data());
      },
      [read](napi_env env) { return PoolNumbersResult(env, *read); }, &status);
  return status < 0 ? Napi::Number::New(info.Env(), status) : promise;
}

Napi::Value FileBatchDescriptors(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchDescriptors");
  int32_t handle = arguments.Int32("handle");
  if (!arguments.ok()) return Napi::Value();
  auto batch = Environment::Of(info.Env())->FindBatch(handle);
  return Napi::Number::New(info.Env(), batch == nullptr ? -EBADF : static_cast<int>(batch->open_descriptors()));
}

Napi::Value FileBatchClose(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileBatchClose");
  int32_t handle = arguments.Int32("handle");
  if (!arguments.ok()) return Napi::Value();
  return Napi::Number::New(info.Env(), Environment::Of(info.Env())->RemoveBatch(handle) ? 0 : -EBADF);
}

}  // namespace kubelet
