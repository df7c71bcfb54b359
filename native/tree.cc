#include "tree.h"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "directory_listing.h"

namespace kubelet {

namespace {

constexpr uint64_t kBlockBytes = 512;

struct Measuring {
  TreeUsage* usage;
  uint64_t entries_max;
  dev_t device;
  std::set<std::pair<dev_t, ino_t>> seen;
};

void MeasureDirectory(UniqueFd fd, int levels, Measuring* measuring) {
  Directory directory = Listing(std::move(fd));
  if (directory == nullptr) {
    measuring->usage->partial = true;
    return;
  }
  int at = dirfd(directory.get());
  while (const dirent* entry = readdir(directory.get())) {
    if (IsSelfOrParent(entry->d_name)) continue;
    if (measuring->usage->entries >= measuring->entries_max) {
      measuring->usage->partial = true;
      return;
    }
    measuring->usage->entries++;
    struct stat status;
    if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != ENOENT) measuring->usage->partial = true;
      continue;
    }
    if (status.st_dev != measuring->device) continue;
    if (!S_ISDIR(status.st_mode) && status.st_nlink > 1 && !measuring->seen.emplace(status.st_dev, status.st_ino).second) continue;
    measuring->usage->bytes += static_cast<uint64_t>(status.st_blocks) * kBlockBytes;
    measuring->usage->inodes++;
    if (!S_ISDIR(status.st_mode)) continue;
    UniqueFd below(levels == 0 ? -1 : openat(at, entry->d_name, kDirectoryFlags));
    if (below.valid()) {
      MeasureDirectory(std::move(below), levels - 1, measuring);
    } else if (levels == 0 || errno != ENOENT) {
      measuring->usage->partial = true;
    }
  }
}

// The group, then the bits: a change of the group may take set-id bits away. False: it couldn't be changed.
bool ChangeEntry(int directory, const char* name, const Ownership& ownership) {
  // The pod may exchange the name at any moment: what is opened is what is changed, and it isn't opened for reading.
  UniqueFd fd(openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT;
  struct stat opened;
  if (fstat(fd.get(), &opened) < 0) return false;
  if (fchownat(fd.get(), "", static_cast<uid_t>(-1), ownership.gid, AT_EMPTY_PATH) < 0) return false;
  if (S_ISLNK(opened.st_mode)) return true;
  uint32_t bits = S_ISDIR(opened.st_mode) ? ownership.directory_bits : ownership.file_bits;
  // fchmod(2) doesn't accept an O_PATH descriptor; its name in /proc leads to the same file, even if the path has changed.
  std::string self = "/proc/self/fd/" + std::to_string(fd.get());
  return chmod(self.c_str(), (opened.st_mode & 07777) | bits) == 0;
}

void OwnDirectory(UniqueFd fd, dev_t device, int levels, const Ownership& ownership, OwnershipOutcome* outcome, std::atomic<uint64_t>* progress) {
  Directory directory = Listing(std::move(fd));
  if (directory == nullptr) {
    outcome->failures++;
    return;
  }
  int at = dirfd(directory.get());
  while (const dirent* entry = readdir(directory.get())) {
    if (IsSelfOrParent(entry->d_name)) continue;
    outcome->entries++;
    struct stat status;
    if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != ENOENT) outcome->failures++;
      continue;
    }
    // Another mount in the volume is not the volume's.
    if (status.st_dev != device) continue;
    if (S_ISDIR(status.st_mode)) {
      UniqueFd below(levels == 0 ? -1 : openat(at, entry->d_name, kDirectoryFlags));
      if (below.valid()) {
        OwnDirectory(std::move(below), device, levels - 1, ownership, outcome, progress);
      } else if (levels == 0 || errno != ENOENT) {
        outcome->failures++;
      }
    }
    if (!ChangeEntry(at, entry->d_name, ownership)) outcome->failures++;
    if (progress != nullptr) progress->fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

int StatPath(const std::string& path, bool follow, PathStatus* out) {
  struct stat status;
  int done = fstatat(AT_FDCWD, path.c_str(), &status, (follow ? 0 : AT_SYMLINK_NOFOLLOW) | AT_NO_AUTOMOUNT);
  if (done < 0) return -errno;
  *out = {status.st_mode, status.st_dev, status.st_ino, status.st_uid, status.st_gid};
  return 0;
}

int MeasureTree(const std::string& path, uint64_t entries_max, TreeUsage* out) {
  *out = {};
  struct stat root;
  if (lstat(path.c_str(), &root) < 0) return -errno;
  out->bytes = static_cast<uint64_t>(root.st_blocks) * kBlockBytes;
  out->inodes = 1;
  out->entries = 1;
  if (!S_ISDIR(root.st_mode)) return 0;
  UniqueFd fd(open(path.c_str(), kDirectoryFlags));
  if (!fd.valid()) return -errno;
  Measuring measuring{out, entries_max, root.st_dev, {}};
  MeasureDirectory(std::move(fd), kTreeLevelsMax, &measuring);
  return 0;
}

int SetTreeOwnership(const std::string& path, const Ownership& ownership, OwnershipOutcome* out, std::atomic<uint64_t>* progress) {
  *out = {};
  UniqueFd fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return -errno;
  struct stat root;
  if (fstat(fd.get(), &root) < 0) return -errno;
  if (S_ISLNK(root.st_mode)) return -ELOOP;
  out->gid = root.st_gid;
  uint32_t bits = S_ISDIR(root.st_mode) ? ownership.directory_bits : ownership.file_bits;
  if (ownership.on_root_mismatch && S_ISDIR(root.st_mode) && root.st_gid == ownership.gid && (root.st_mode & bits) == bits) return 0;
  out->walked = true;
  out->entries = 1;
  std::string self = "/proc/self/fd/" + std::to_string(fd.get());
  if (S_ISDIR(root.st_mode)) {
    UniqueFd listed(openat(fd.get(), ".", kDirectoryFlags));
    if (!listed.valid()) return -errno;
    OwnDirectory(std::move(listed), root.st_dev, kTreeLevelsMax, ownership, out, progress);
  }
  if (fchownat(fd.get(), "", static_cast<uid_t>(-1), ownership.gid, AT_EMPTY_PATH) < 0) return -errno;
  return chmod(self.c_str(), (root.st_mode & 07777) | bits) < 0 ? -errno : 0;
}

}  // namespace kubelet
