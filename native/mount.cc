#include "mount.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x00002000
#endif

namespace kubelet {

int Mount(const std::string& source, const std::string& target, const std::string& type, uint64_t flags, const std::string& data) {
  const char* data_text = data.empty() ? nullptr : data.c_str();
  return mount(source.c_str(), target.c_str(), type.c_str(), static_cast<unsigned long>(flags), data_text) < 0 ? -errno : 0;
}

int Unmount(const std::string& target, int flags) { return umount2(target.c_str(), flags) < 0 ? -errno : 0; }

int IsMountRoot(const std::string& path) {
  struct statx entry;
  // AT_NO_AUTOMOUNT: asking must not mount anything.
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &entry) < 0) return -errno;
  if ((entry.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) return -EOPNOTSUPP;
  return (entry.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ? 1 : 0;
}

}  // namespace kubelet
