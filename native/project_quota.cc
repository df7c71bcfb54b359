#include "project_quota.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include "directory_listing.h"
#include "tree.h"

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef PRJQUOTA
#define PRJQUOTA 2
#endif

namespace kubelet {

namespace {

int Command(int command) { return static_cast<int>(QCMD(command, PRJQUOTA)); }

// The block device of a file system, for kernels that require its name; "": none.
std::string DeviceOf(int fd) {
  struct stat status;
  if (fstat(fd, &status) < 0) return "";
  std::string link = "/sys/dev/block/" + std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
  char target[PATH_MAX];
  ssize_t size = readlink(link.c_str(), target, sizeof target);
  if (size <= 0 || size == sizeof target) return "";
  std::string path(target, static_cast<size_t>(size));
  std::string name = path.substr(path.rfind('/') + 1);
  for (char& letter : name)
    if (letter == '!') letter = '/';
  return "/dev/" + name;
}

int Quotactl(int fd, int command, uint32_t project, void* data) {
  if (syscall(SYS_quotactl_fd, fd, Command(command), project, data) == 0) return 0;
  if (errno != ENOSYS) return -errno;
  // A kernel before 5.14, or a file system that knows no quotas: it says so again.
  std::string device = DeviceOf(fd);
  if (device.empty()) return -ENOSYS;
  return syscall(SYS_quotactl, Command(command), device.c_str(), project, data) == 0 ? 0 : -errno;
}

int ReadQuota(int fd, uint32_t project, ProjectQuota* out) {
  *out = {};
  struct if_dqblk block = {};
  int status = Quotactl(fd, Q_GETQUOTA, project, &block);
  // XFS: the project was never used.
  if (status == -ENOENT) return 0;
  if (status < 0) return status;
  out->bytes = block.dqb_curspace;
  out->inodes = block.dqb_curinodes;
  out->limited = block.dqb_bhardlimit != 0 || block.dqb_bsoftlimit != 0 || block.dqb_ihardlimit != 0 || block.dqb_isoftlimit != 0;
  return 0;
}

int SetProject(int fd, uint32_t project, bool is_directory) {
  struct fsxattr attributes = {};
  if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) < 0) return -errno;
  uint32_t inherit = is_directory && project != 0 ? FS_XFLAG_PROJINHERIT : 0;
  uint32_t flags = (attributes.fsx_xflags & ~static_cast<uint32_t>(FS_XFLAG_PROJINHERIT)) | inherit;
  if (attributes.fsx_projid == project && attributes.fsx_xflags == flags) return 0;
  attributes.fsx_projid = project;
  attributes.fsx_xflags = flags;
  return ioctl(fd, FS_IOC_FSSETXATTR, &attributes) < 0 ? -errno : 0;
}

void AssignBelow(UniqueFd fd, dev_t device, int levels, uint32_t project, ProjectOutcome* outcome) {
  Directory directory = Listing(std::move(fd));
  if (directory == nullptr) {
    outcome->failures++;
    return;
  }
  int at = dirfd(directory.get());
  while (const dirent* entry = readdir(directory.get())) {
    if (IsSelfOrParent(entry->d_name)) continue;
    struct stat status;
    if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno != ENOENT) outcome->failures++;
      continue;
    }
    // Links, pipes and devices can't be given a project in this way; what they take is a name and an inode. Another mount is not the volume's.
    bool is_directory = S_ISDIR(status.st_mode);
    if (status.st_dev != device || (!is_directory && !S_ISREG(status.st_mode))) continue;
    outcome->entries++;
    UniqueFd below(is_directory && levels == 0 ? -1 : openat(at, entry->d_name, is_directory ? kDirectoryFlags : O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!below.valid()) {
      if ((is_directory && levels == 0) || errno != ENOENT) outcome->failures++;
      continue;
    }
    if (SetProject(below.get(), project, is_directory) < 0) outcome->failures++;
    if (is_directory) AssignBelow(std::move(below), device, levels - 1, project, outcome);
  }
}

UniqueFd OpenDirectory(const std::string& path) { return UniqueFd(open(path.c_str(), kDirectoryFlags)); }

}  // namespace

int LookAtProject(const std::string& path, ProjectOfDirectory* out) {
  *out = {};
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid()) return -errno;
  struct statfs figures;
  if (fstatfs(fd.get(), &figures) < 0) return -errno;
  out->file_system = static_cast<uint64_t>(figures.f_type);
  struct fsxattr attributes = {};
  // A file system without projects counts none either.
  if (ioctl(fd.get(), FS_IOC_FSGETXATTR, &attributes) < 0) {
    out->quota_errno = errno;
    return 0;
  }
  out->project = attributes.fsx_projid;
  out->inherits = (attributes.fsx_xflags & FS_XFLAG_PROJINHERIT) != 0;
  out->quota_errno = -ReadQuota(fd.get(), out->project, &out->quota);
  return 0;
}

int GetProjectQuota(const std::string& path, uint32_t project, ProjectQuota* out) {
  UniqueFd fd = OpenDirectory(path);
  return fd.valid() ? ReadQuota(fd.get(), project, out) : -errno;
}

int AssignProject(const std::string& path, uint32_t project, bool tree, ProjectOutcome* out) {
  *out = {};
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid()) return -errno;
  struct stat root;
  if (fstat(fd.get(), &root) < 0) return -errno;
  out->entries = 1;
  int status = SetProject(fd.get(), project, true);
  if (status < 0 || !tree) return status;
  AssignBelow(std::move(fd), root.st_dev, kTreeLevelsMax, project, out);
  return 0;
}

int LimitProject(const std::string& path, uint32_t project, uint64_t kibibytes) {
  UniqueFd fd = OpenDirectory(path);
  if (!fd.valid()) return -errno;
  struct if_dqblk block = {};
  block.dqb_bhardlimit = kibibytes;
  block.dqb_bsoftlimit = kibibytes;
  block.dqb_valid = QIF_BLIMITS;
  return Quotactl(fd.get(), Q_SETQUOTA, project, &block);
}

}  // namespace kubelet
