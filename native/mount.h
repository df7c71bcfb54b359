// mount(2), umount2(2), and the kernel's own answer to "is this the root of a mount".
#ifndef KUBELET_NATIVE_MOUNT_H_
#define KUBELET_NATIVE_MOUNT_H_

#include <cstdint>
#include <string>

namespace kubelet {

// One mount(2) call; bind, remount and propagation are its flags. Empty `data` is passed as none.
int Mount(const std::string& source, const std::string& target, const std::string& type, uint64_t flags, const std::string& data);

int Unmount(const std::string& target, int flags);

// 1: `path` itself is the root of a mount; 0: it isn't; -EOPNOTSUPP: the kernel doesn't say (before 5.8). Follows no symbolic link at the end.
int IsMountRoot(const std::string& path);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_MOUNT_H_
