// Typed arguments of one call. The binding's callers are our own TypeScript, so a wrong type is a programmer's error:
// a TypeError that names function, argument and what was expected. Nothing is converted, nothing has a default.
// Invariant: after the first mistake an exception is pending and every getter answers an empty value.
#ifndef KUBELET_NATIVE_ARGUMENTS_H_
#define KUBELET_NATIVE_ARGUMENTS_H_

#include <cmath>
#include <cstdint>
#include <napi.h>
#include <string>

namespace kubelet {

class Arguments {
 public:
  Arguments(const Napi::CallbackInfo& info, const char* function) : info_(info), function_(function) {}

  bool ok() const { return ok_; }
  Napi::Env env() const { return info_.Env(); }

  int32_t Int32(const char* name) { return static_cast<int32_t>(Integer(name, INT32_MIN, INT32_MAX)); }
  uint32_t Uint32(const char* name) { return static_cast<uint32_t>(Integer(name, 0, UINT32_MAX)); }

  bool Boolean(const char* name) {
    Napi::Value value = Next();
    if (!ok_) return false;
    if (!value.IsBoolean()) return Fail(name, "a boolean"), false;
    return value.As<Napi::Boolean>().Value();
  }

  uint64_t Uint64(const char* name) {
    Napi::Value value = Next();
    if (!ok_) return 0;
    if (!value.IsBigInt()) return Fail(name, "a bigint"), 0;
    bool lossless = false;
    uint64_t number = value.As<Napi::BigInt>().Uint64Value(&lossless);
    if (!lossless) return Fail(name, "a bigint of 64 bits without sign"), 0;
    return number;
  }

  // Text that goes to the kernel as a C string: a zero byte would cut it off unseen.
  std::string Text(const char* name) {
    Napi::Value value = Next();
    if (!ok_) return {};
    if (!value.IsString()) return Fail(name, "a string"), std::string();
    std::string text = value.As<Napi::String>().Utf8Value();
    if (text.find('\0') != std::string::npos) return Fail(name, "a string without zero bytes"), std::string();
    return text;
  }

  Napi::Function Function(const char* name) {
    Napi::Value value = Next();
    if (!ok_) return {};
    if (!value.IsFunction()) return Fail(name, "a function"), Napi::Function();
    return value.As<Napi::Function>();
  }

  Napi::Int32Array Int32Array(const char* name) {
    Napi::Value value = Next();
    if (!ok_) return {};
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_int32_array) return Fail(name, "an Int32Array"), Napi::Int32Array();
    return value.As<Napi::Int32Array>();
  }

  Napi::Uint8Array Uint8Array(const char* name) {
    Napi::Value value = Next();
    if (!ok_) return {};
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) return Fail(name, "a Uint8Array"), Napi::Uint8Array();
    return value.As<Napi::Uint8Array>();
  }

  void Fail(const char* name, const char* expected) {
    if (!ok_) return;
    ok_ = false;
    Napi::TypeError::New(info_.Env(), std::string(function_) + ": " + name + " must be " + expected).ThrowAsJavaScriptException();
  }

 private:
  Napi::Value Next() {
    // info_[n] past the end is undefined, which no getter accepts.
    return info_[position_++];
  }

  int64_t Integer(const char* name, int64_t min, int64_t max) {
    Napi::Value value = Next();
    if (!ok_) return 0;
    double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
    if (!(number >= static_cast<double>(min) && number <= static_cast<double>(max)) || std::trunc(number) != number) {
      Fail(name, min < 0 ? "an integer of 32 bits" : "an integer of 32 bits, not negative");
      return 0;
    }
    return static_cast<int64_t>(number);
  }

  const Napi::CallbackInfo& info_;
  const char* function_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace kubelet

#endif  // KUBELET_NATIVE_ARGUMENTS_H_
