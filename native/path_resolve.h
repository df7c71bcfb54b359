// Opening a path that others control without ever leaving a root directory.
// Invariant: no component is looked up outside the root, even with concurrent renames and links.
#ifndef KUBELET_NATIVE_PATH_RESOLVE_H_
#define KUBELET_NATIVE_PATH_RESOLVE_H_

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "fd_watch.h"

namespace kubelet {

// openat2(2) below `root_fd`; `resolve` is its RESOLVE_* mask and must hold RESOLVE_BENEATH. Close-on-exec is always added.
// Where the kernel has no openat2, the walk below. -EXDEV: the path leads out; -ELOOP: a symbolic link where none is allowed.
int OpenBeneath(int root_fd, const std::string& path, int flags, mode_t mode, uint64_t resolve, UniqueFd* out);

// The same rule by hand, one element at a time through O_PATH|O_NOFOLLOW descriptors.
int WalkBeneath(int root_fd, const std::string& path, int flags, mode_t mode, bool follow_symlinks, UniqueFd* out);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_PATH_RESOLVE_H_
