// A list of small steps on files and directories, done one after the other in one go: what a pod's start or end does on disk.
// Invariants: a directory is named by the slot of a descriptor and an entry by one name, never followed when it is a link; the first failure
// that a step doesn't tolerate ends the list; a step in a directory that isn't there is passed over; nothing stays open afterwards.
#ifndef KUBELET_NATIVE_FILE_STEPS_H_
#define KUBELET_NATIVE_FILE_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fd_watch.h"

namespace kubelet {

// The numbers of src/adapters/native-linux/file-steps.ts.
enum class FileStepKind : int32_t {
  kEnter = 1,
  kMakeDirectory,
  kLook,
  kList,
  kRead,
  kCreate,
  kReplace,
  kWrite,
  kUnlink,
  kRemoveDirectory,
  kRename,
  kLink,
  kReadLink,
  kRemoveTree,
  kRemoveDirectories,
  kNoMountBelow,
};
constexpr int32_t kFileStepKindMax = static_cast<int32_t>(FileStepKind::kNoMountBelow);

// Failures that a step may have without ending the list.
constexpr int32_t kTolerateAbsent = 1;   // ENOENT
constexpr int32_t kToleratePresent = 2;  // EEXIST
constexpr int32_t kTolerateAny = 4;

struct FileStep {
  FileStepKind kind;
  // A slot; below 0: `name` is an absolute path.
  int32_t directory;
  // kEnter: the slot of what is entered.
  int32_t into;
  int32_t tolerated;
  // Mode, bytes at most, levels, or a choice: see each function.
  int32_t number;
  std::string name;
  // Content, target of a link, or the new name.
  std::string text;
};

// The status of a step that wasn't done: its directory is absent, or an earlier step ended the list. (-ECANCELED.)
extern const int kStepNotDone;

struct FileStepOutcome {
  // 0, a number (kLook: st_mode; kRead: bytes; kReplace, kRemoveDirectories: 1 when it was done), or negative errno.
  int32_t status;
  // What was read, listed, or where a removal failed.
  std::string text;
};

// `slots` holds the descriptors of the roots, and has room for all others. As many outcomes as steps.
std::vector<FileStepOutcome> DoFileSteps(std::vector<UniqueFd> slots, const std::vector<FileStep>& steps);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_FILE_STEPS_H_
