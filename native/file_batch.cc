#include "file_batch.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace kubelet {

namespace {

// A sequence file hands out whole records, as many as fit into a page, so a read may be short without being the last one.
// The records of a cgroup's files are either the whole file or lines of a few bytes, so there a read below this is the last:
// half of the system calls saved.
constexpr size_t kShortCgroupRead = 2048;

// Bytes, or a negative errno.
ssize_t ReadWhole(int fd, FileOrigin origin, char* out, size_t bytes_max, int32_t* truncated) {
  size_t size = 0;
  while (size < bytes_max) {
    ssize_t got = pread(fd, out + size, bytes_max - size, static_cast<off_t>(size));
    if (got < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    if (got == 0) return static_cast<ssize_t>(size);
    size += static_cast<size_t>(got);
    if (origin == FileOrigin::kCgroup && static_cast<size_t>(got) < kShortCgroupRead && size < bytes_max) return static_cast<ssize_t>(size);
  }
  char more;
  *truncated = pread(fd, &more, 1, static_cast<off_t>(size)) > 0 ? 1 : 0;
  return static_cast<ssize_t>(size);
}

FileOrigin OriginOf(int fd) {
  struct statfs figures;
  if (fstatfs(fd, &figures) < 0) return FileOrigin::kOrdinary;
  switch (static_cast<unsigned long>(figures.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
      return FileOrigin::kKernel;
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
      return FileOrigin::kCgroup;
    default:
      return FileOrigin::kOrdinary;
  }
}

bool IsUnlinked(int fd) {
  struct stat entry;
  return fstat(fd, &entry) < 0 || entry.st_nlink == 0;
}

// What a kept descriptor answers when its file was removed under it: a cgroup ENODEV, a process ESRCH, a network file ESTALE.
bool IsGone(ssize_t status) { return status == -ENODEV || status == -ENOENT || status == -ESTALE || status == -ESRCH; }

}  // namespace

int32_t FileBatch::Add(const std::string& path) { return AddNumbers(path, NumberForm{}, {}); }

int32_t FileBatch::AddNumbers(const std::string& path, NumberForm form, std::vector<std::string> keys) {
  std::lock_guard<std::mutex> lock(mutex_);
  int32_t number;
  if (free_.empty()) {
    number = static_cast<int32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[static_cast<size_t>(number)];
  slot.path = path;
  slot.form = form;
  slot.keys = std::move(keys);
  slot.used = true;
  slot.last_batch = 0;
  return number;
}

int FileBatch::Remove(int32_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot* slot = Used(number);
  if (slot == nullptr) return -ENOENT;
  Drop(slot);
  slot->used = false;
  slot->path.clear();
  slot->keys.clear();
  free_.push_back(number);
  return 0;
}

size_t FileBatch::Read(const int32_t* slots, size_t count, size_t item_bytes_max, char* out, FileBatchItem* items) {
  std::lock_guard<std::mutex> lock(mutex_);
  batch_++;
  size_t written = 0;
  for (size_t index = 0; index < count; index++) {
    int32_t number = slots[index];
    items[index] = FileBatchItem{};
    Slot* slot = Used(number);
    if (slot == nullptr) {
      items[index].status = -ENOENT;
      continue;
    }
    ReadSlot(number, slot, item_bytes_max, out + written, &items[index]);
    if (items[index].status > 0) written += static_cast<size_t>(items[index].status);
  }
  return written;
}

void FileBatch::ReadNumbers(const int32_t* slots, size_t count, size_t item_bytes_max, std::vector<double>* numbers, int32_t* counts) {
  std::vector<char> text(item_bytes_max);
  std::lock_guard<std::mutex> lock(mutex_);
  batch_++;
  for (size_t index = 0; index < count; index++) {
    Slot* slot = Used(slots[index]);
    counts[index] = slot == nullptr ? -ENOENT : NumbersOf(slots[index], slot, &text, numbers);
  }
}

FileBatch::Slot* FileBatch::Used(int32_t number) {
  if (number < 0 || static_cast<size_t>(number) >= slots_.size()) return nullptr;
  Slot* slot = &slots_[static_cast<size_t>(number)];
  return slot->used ? slot : nullptr;
}

int32_t FileBatch::NumbersOf(int32_t number, Slot* slot, std::vector<char>* text, std::vector<double>* numbers) {
  size_t before = numbers->size();
  switch (slot->form) {
    case NumberForm::kLinks:
    case NumberForm::kSockets: {
      int status = NumbersOfPath(slot->form, slot->path.c_str(), numbers);
      if (status < 0) return status;
      break;
    }
    case NumberForm::kWords:
    case NumberForm::kKeyed:
    case NumberForm::kAssigned: {
      FileBatchItem item;
      ReadSlot(number, slot, text->size(), text->data(), &item);
      if (item.status < 0) return item.status;
      NumbersOfText(slot->form, slot->keys, text->data(), static_cast<size_t>(item.status), item.truncated != 0, numbers);
      break;
    }
    default:
      return -EINVAL;
  }
  return static_cast<int32_t>(numbers->size() - before);
}

size_t FileBatch::open_descriptors() {
  std::lock_guard<std::mutex> lock(mutex_);
  return recent_.size();
}

void FileBatch::ReadSlot(int32_t number, Slot* slot, size_t bytes_max, char* out, FileBatchItem* item) {
  if (slot->fd.valid()) {
    bool replaced = slot->origin == FileOrigin::kOrdinary && IsUnlinked(slot->fd.get());
    ssize_t status = replaced ? -ENOENT : ReadWhole(slot->fd.get(), slot->origin, out, bytes_max, &item->truncated);
    if (!IsGone(status)) {
      item->status = static_cast<int32_t>(status);
      slot->last_batch = batch_;
      recent_.splice(recent_.end(), recent_, slot->position);
      return;
    }
    Drop(slot);
  }
  // O_NONBLOCK: a fifo at the path must not hold the batch.
  UniqueFd fd(open(slot->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    item->status = -errno;
    return;
  }
  item->truncated = 0;
  ssize_t status = ReadWhole(fd.get(), FileOrigin::kOrdinary, out, bytes_max, &item->truncated);
  item->status = static_cast<int32_t>(status);
  slot->last_batch = batch_;
  if (status < 0) return;
  FileOrigin origin = OriginOf(fd.get());
  Keep(number, slot, std::move(fd), origin);
}

void FileBatch::Keep(int32_t number, Slot* slot, UniqueFd fd, FileOrigin origin) {
  if (descriptors_max_ == 0) return;
  if (recent_.size() >= descriptors_max_) {
    Slot& oldest = slots_[static_cast<size_t>(recent_.front())];
    // Plain least-recently-used would hit nothing at all when each batch reads more files than the bound, in the same order.
    // So a descriptor that this batch or the one before used stays, and the newcomer is read without being kept.
    if (oldest.last_batch + 1 >= batch_) return;
    Drop(&oldest);
  }
  slot->fd = std::move(fd);
  slot->origin = origin;
  slot->position = recent_.insert(recent_.end(), number);
}

void FileBatch::Drop(Slot* slot) {
  if (!slot->fd.valid()) return;
  recent_.erase(slot->position);
  slot->fd.reset();
}

}  // namespace kubelet
