// Numbers from the kernel's small text files, so that they needn't be passed to JavaScript as text.
// Invariant: anything but a number is NaN; nothing outside of the text is read.
#ifndef KUBELET_NATIVE_NUMBER_FORMS_H_
#define KUBELET_NATIVE_NUMBER_FORMS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kubelet {

// How the numbers of one path are found. The values are those of src/adapters/native-linux/number-form.ts.
enum class NumberForm : int32_t {
  // The file's text: one number for each word, in their order.
  kWords = 1,
  // The file's text: lines that begin with a key, a space and a number; one number for each key.
  kKeyed = 2,
  // The file's text: what follows each `=`, in their order.
  kAssigned = 3,
  // How many links the directory has: where the file system counts them, two and one for each directory in it.
  kLinks = 4,
  // How many entries the directory has, then how many of the first `kSocketsLookedAtMax` are links to sockets: /proc/<pid>/fd.
  kSockets = 5,
};

constexpr int32_t kNumberFormMax = 5;
constexpr size_t kSocketsLookedAtMax = 1024;

// Appends the numbers of a text in one of the first three forms. A word that `truncated` may have cut is left out.
void NumbersOfText(NumberForm form, const std::vector<std::string>& keys, const char* text, size_t size, bool truncated, std::vector<double>* numbers);

// Appends the numbers of a path in one of the last two forms. 0, or a negative errno and nothing appended.
int NumbersOfPath(NumberForm form, const char* path, std::vector<double>* numbers);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_NUMBER_FORMS_H_
