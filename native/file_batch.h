// Many small files of /proc, /sys and cgroups in one call, with their descriptors kept open within a bound.
// Invariants: at most `descriptors_max` descriptors stay open between reads; an item's failure never stops the others;
// a descriptor whose file is gone is opened again by path before its item fails.
#ifndef KUBELET_NATIVE_FILE_BATCH_H_
#define KUBELET_NATIVE_FILE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "fd_watch.h"
#include "number_forms.h"

namespace kubelet {

struct FileBatchItem {
  // Bytes read, or a negative errno.
  int32_t status = 0;
  // 1 when the file has more than `item_bytes_max` bytes.
  int32_t truncated = 0;
};

// Assumptions about a file.
enum class FileOrigin {
  // May be replaced by rename, so it is checked for that on each read.
  kOrdinary,
  // Of /proc or /sys: never replaced.
  kKernel,
  // Of a cgroup: never replaced, and a short read is its end.
  kCgroup,
};

class FileBatch {
 public:
  explicit FileBatch(size_t descriptors_max) : descriptors_max_(descriptors_max) {}

  // A slot: a small number, used again after Remove.
  int32_t Add(const std::string& path);
  // A slot whose numbers are read. `keys` are those of the keyed form.
  int32_t AddNumbers(const std::string& path, NumberForm form, std::vector<std::string> keys);
  // -ENOENT for a slot that isn't in use.
  int Remove(int32_t slot);

  // Reads the slots in order, packed one after the other into `out`, which must have room for slots * item_bytes_max.
  // An unknown slot is answered with -ENOENT. Returns the bytes written. Safe to call from several threads.
  size_t Read(const int32_t* slots, size_t count, size_t item_bytes_max, char* out, FileBatchItem* items);

  // The numbers of the slots, appended one after the other; for each their count, or a negative errno. -EINVAL for a slot that was
  // added without a form. Reads at most `item_bytes_max` bytes of a file. Safe to call from several threads.
  void ReadNumbers(const int32_t* slots, size_t count, size_t item_bytes_max, std::vector<double>* numbers, int32_t* counts);

  size_t open_descriptors();

 private:
  struct Slot {
    std::string path;
    UniqueFd fd;
    bool used = false;
    // 0: none.
    NumberForm form{};
    std::vector<std::string> keys;
    FileOrigin origin = FileOrigin::kOrdinary;
    uint64_t last_batch = 0;
    std::list<int32_t>::iterator position;
  };

  // nullptr when it isn't in use.
  Slot* Used(int32_t number);
  int32_t NumbersOf(int32_t number, Slot* slot, std::vector<char>* text, std::vector<double>* numbers);
  void ReadSlot(int32_t number, Slot* slot, size_t bytes_max, char* out, FileBatchItem* item);
  void Keep(int32_t number, Slot* slot, UniqueFd fd, FileOrigin origin);
  void Drop(Slot* slot);

  std::mutex mutex_;
  const size_t descriptors_max_;
  std::vector<Slot> slots_;
  std::vector<int32_t> free_;
  // Slots with an open descriptor, least recently used first.
  std::list<int32_t> recent_;
  uint64_t batch_ = 0;
};

}  // namespace kubelet

#endif  // KUBELET_NATIVE_FILE_BATCH_H_
