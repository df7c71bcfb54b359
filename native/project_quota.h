// Project quotas of ext4 and XFS: the project of a directory, and the kernel's usage and limits of a project.
// Invariants: no link below a path is followed, a walk stays on its file system; only a file's project is changed.
#ifndef KUBELET_NATIVE_PROJECT_QUOTA_H_
#define KUBELET_NATIVE_PROJECT_QUOTA_H_

#include <cstdint>
#include <string>

namespace kubelet {

struct ProjectQuota {
  uint64_t bytes, inodes;
  // It has a limit of any kind.
  bool limited;
};

struct ProjectOfDirectory {
  // Magic number, as statfs(2) gives it.
  uint64_t file_system;
  uint32_t project;
  // What is made in the directory belongs to the project as well.
  bool inherits;
  // 0: `quota` is the project's; otherwise the reason of the failure.
  int quota_errno;
  ProjectQuota quota;
};

struct ProjectOutcome {
  uint64_t entries, failures;
};

// 0 or negative errno of the directory.
int LookAtProject(const std::string& path, ProjectOfDirectory* out);

// Of any project on the path's file system; an unused project has zero usage. 0 or negative errno: ESRCH and EINVAL if the file
// system doesn't account projects, ENOSYS if the kernel can't.
int GetProjectQuota(const std::string& path, uint32_t project, ProjectQuota* out);

// The directory first, so that what is made meanwhile inherits; with `tree` then the directories and files in it. What vanishes is nothing,
// what can't be changed is a failure. 0 or negative errno of the directory.
int AssignProject(const std::string& path, uint32_t project, bool tree, ProjectOutcome* out);

// Of space, in units of 1024 bytes; 0: none. 0 or negative errno.
int LimitProject(const std::string& path, uint32_t project, uint64_t kibibytes);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_PROJECT_QUOTA_H_
