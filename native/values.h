// JavaScript values created where JavaScript may have ended already: in a poll's callback and in the completion of pool work.
// Raw Node-API with every status checked, since the wrapper's own reaction to a failure there is to end the process.
// Invariant: nullptr means that JavaScript can't run any more; the caller drops its data.
#ifndef KUBELET_NATIVE_VALUES_H_
#define KUBELET_NATIVE_VALUES_H_

#include <cstring>
#include <initializer_list>
#include <node_api.h>
#include <string>
#include <vector>

#include "environment.h"

namespace kubelet {

inline napi_value NumberValue(napi_env env, double number) {
  napi_value value;
  return CheckStatus(napi_create_double(env, number, &value), "NumberValue") ? value : nullptr;
}

inline napi_value BooleanValue(napi_env env, bool truth) {
  napi_value value;
  return CheckStatus(napi_get_boolean(env, truth, &value), "BooleanValue") ? value : nullptr;
}

// A typed array with a copy of `count` elements.
inline napi_value TypedArrayValue(napi_env env, napi_typedarray_type type, const void* elements, size_t count, size_t element_bytes) {
  void* memory = nullptr;
  napi_value buffer;
  if (!CheckStatus(napi_create_arraybuffer(env, count * element_bytes, &memory, &buffer), "TypedArrayValue: memory")) return nullptr;
  if (count > 0) std::memcpy(memory, elements, count * element_bytes);
  napi_value value;
  return CheckStatus(napi_create_typedarray(env, type, count, buffer, 0, &value), "TypedArrayValue") ? value : nullptr;
}

// Bytes that aren't UTF-8 become U+FFFD.
inline napi_value StringArrayValue(napi_env env, const std::vector<std::string>& texts) {
  napi_value array;
  if (!CheckStatus(napi_create_array_with_length(env, texts.size(), &array), "StringArrayValue")) return nullptr;
  for (size_t index = 0; index < texts.size(); index++) {
    napi_value text;
    if (!CheckStatus(napi_create_string_utf8(env, texts[index].data(), texts[index].size(), &text), "StringArrayValue: text")) return nullptr;
    if (!CheckStatus(napi_set_element(env, array, static_cast<uint32_t>(index), text), "StringArrayValue: element")) return nullptr;
  }
  return array;
}

inline napi_value BigUint64ArrayValue(napi_env env, std::initializer_list<uint64_t> numbers) {
  return TypedArrayValue(env, napi_biguint64_array, numbers.begin(), numbers.size(), sizeof(uint64_t));
}

}  // namespace kubelet

#endif  // KUBELET_NATIVE_VALUES_H_
