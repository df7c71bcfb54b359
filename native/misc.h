// Single system calls that Node doesn't offer: statfs with flags, sd_notify, flock, resource limits.
#ifndef KUBELET_NATIVE_MISC_H_
#define KUBELET_NATIVE_MISC_H_

#include <cstdint>
#include <string>

namespace kubelet {

struct FilesystemFigures {
  uint64_t type;
  // Unit of the block counts.
  uint64_t block_bytes;
  uint64_t blocks;
  uint64_t blocks_free;
  uint64_t blocks_available;
  uint64_t files;
  uint64_t files_free;
  // ST_* bits of the mount: ST_RDONLY, ST_NOSUID, ...
  uint64_t flags;
};

int StatFilesystem(const std::string& path, FilesystemFigures* out);

// One datagram to the service manager's socket; "@name" is an abstract one. Never blocks: -EAGAIN when its queue is full.
int SdNotify(const std::string& socket_path, const std::string& state);

// Takes (or with `lock` false gives back) an exclusive flock without waiting; -EWOULDBLOCK when another holds it.
int Flock(int fd, bool lock);

int GetLimit(int resource, uint64_t* soft, uint64_t* hard);
int SetLimit(int resource, uint64_t soft, uint64_t hard);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_MISC_H_
