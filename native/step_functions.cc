// Thin layer: lists of steps on files.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>

#include "arguments.h"
#include "environment.h"
#include "file_steps.h"
#include "functions.h"
#include "values.h"

namespace kubelet {

namespace {

// A step is four numbers (kind, directory, tolerated failures, number) and two texts.
constexpr size_t kNumbersAStep = 4;
constexpr size_t kTextsAStep = 2;
// Bounds of one list; a longer one is a mistake of the caller's.
constexpr size_t kStepsMax = 65536;
constexpr size_t kSlotsMax = 4096;

struct PoolSteps {
  std::vector<UniqueFd> slots;
  std::vector<FileStep> steps;
  std::vector<FileStepOutcome> outcomes;
};

// Two a step, with a zero byte between each two of all.
bool HasTexts(const std::string& texts, size_t steps) {
  if (steps == 0) return texts.empty();
  return static_cast<size_t>(std::count(texts.begin(), texts.end(), '\0')) == steps * kTextsAStep - 1;
}

std::string TextAt(const std::string& texts, size_t* position) {
  size_t end = texts.find('\0', *position);
  if (end == std::string::npos) end = texts.size();
  std::string text = texts.substr(*position, end - *position);
  *position = end + 1;
  return text;
}

// False when a number is out of its range.
bool StepsOf(const Napi::Int32Array& numbers, const std::string& texts, size_t roots, PoolSteps* out) {
  size_t count = numbers.ElementLength() / kNumbersAStep;
  if (count > kStepsMax || count * kNumbersAStep != numbers.ElementLength()) return false;
  size_t position = 0;
  size_t slots = roots;
  for (size_t i = 0; i < count; i++) {
    const int32_t* step = numbers.Data() + i * kNumbersAStep;
    bool enters = step[0] == static_cast<int32_t>(FileStepKind::kEnter);
    // What is entered gets the next slot.
    int32_t into = enters ? static_cast<int32_t>(slots) : -1;
    if (step[0] < 1 || step[0] > kFileStepKindMax || step[1] < -1 || step[1] >= static_cast<int32_t>(slots) || step[3] < 0 || slots >= kSlotsMax) return false;
    if (enters) slots++;
    std::string name = TextAt(texts, &position);
    std::string text = TextAt(texts, &position);
    out->steps.push_back({static_cast<FileStepKind>(step[0]), step[1], into, step[2], step[3], std::move(name), std::move(text)});
  }
  out->slots.resize(slots);
  return true;
}

napi_value PoolStepsResult(napi_env env, const PoolSteps& done) {
  std::vector<int32_t> statuses;
  std::vector<std::string> texts;
  for (const FileStepOutcome& outcome : done.outcomes) {
    statuses.push_back(outcome.status);
    if (!outcome.text.empty()) {
      texts.resize(statuses.size());
      texts.back() = outcome.text;
    }
  }
  napi_value statuses_value = TypedArrayValue(env, napi_int32_array, statuses.data(), statuses.size(), sizeof(int32_t));
  napi_value texts_value = StringArrayValue(env, texts);
  napi_value result;
  if (statuses_value == nullptr || texts_value == nullptr || !CheckStatus(napi_create_object(env, &result), "PoolStepsResult")) return nullptr;
  if (!CheckStatus(napi_set_named_property(env, result, "statuses", statuses_value), "PoolStepsResult: statuses")) return nullptr;
  if (!CheckStatus(napi_set_named_property(env, result, "texts", texts_value), "PoolStepsResult: texts")) return nullptr;
  return result;
}

}  // namespace

Napi::Value FileStepsOnPool(const Napi::CallbackInfo& info) {
  Arguments arguments(info, "fileStepsOnPool");
  Napi::Int32Array roots = arguments.Int32Array("roots");
  Napi::Int32Array numbers = arguments.Int32Array("numbers");
  // Not Text(): zero bytes separate the texts.
  Napi::Value texts = info[2];
  if (arguments.ok() && !texts.IsString()) arguments.Fail("texts", "a string");
  if (!arguments.ok()) return Napi::Value();
  auto list = std::make_shared<PoolSteps>();
  std::string all_texts = texts.As<Napi::String>().Utf8Value();
  if (!HasTexts(all_texts, numbers.ElementLength() / kNumbersAStep)) return arguments.Fail("texts", "a string of two texts a step"), Napi::Value();
  if (!StepsOf(numbers, all_texts, roots.ElementLength(), list.get())) return arguments.Fail("numbers", "four numbers a step, each in its range"), Napi::Value();
  for (size_t i = 0; i < roots.ElementLength(); i++) {
    // Copies: the caller may close its own at any moment.
    list->slots[i] = UniqueFd(fcntl(roots[i], F_DUPFD_CLOEXEC, 0));
    if (!list->slots[i].valid()) return Napi::Number::New(info.Env(), -errno);
  }
  int status = 0;
  Napi::Value promise = Environment::Of(info.Env())
                            ->RunOnPool([list] { list->outcomes = DoFileSteps(std::move(list->slots), list->steps); },
                                        [list](napi_env env) { return PoolStepsResult(env, *list); }, &status);
  return status < 0 ? Napi::Number::New(info.Env(), status) : promise;
}

}  // namespace kubelet
