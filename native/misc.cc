#include "misc.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>

#include "fd_watch.h"

namespace kubelet {

int StatFilesystem(const std::string& path, FilesystemFigures* out) {
  struct statfs figures;
  int status;
  do {
    status = statfs(path.c_str(), &figures);
  } while (status < 0 && errno == EINTR);
  if (status < 0) return -errno;
  out->type = static_cast<uint64_t>(figures.f_type);
  // f_frsize is the unit of the counts where the two differ; some file systems leave it 0.
  out->block_bytes = static_cast<uint64_t>(figures.f_frsize != 0 ? figures.f_frsize : figures.f_bsize);
  out->blocks = figures.f_blocks;
  out->blocks_free = figures.f_bfree;
  out->blocks_available = figures.f_bavail;
  out->files = figures.f_files;
  out->files_free = figures.f_ffree;
  out->flags = static_cast<uint64_t>(figures.f_flags);
  return 0;
}

int SdNotify(const std::string& socket_path, const std::string& state) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.empty() || (socket_path[0] != '/' && socket_path[0] != '@')) return -EAFNOSUPPORT;
  if (socket_path.size() >= sizeof address.sun_path) return -ENAMETOOLONG;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_path.size());
  if (socket_path[0] == '@') {
    address.sun_path[0] = '\0';
  } else {
    size++;
  }
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return -errno;
  ssize_t sent;
  do {
    sent = sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), size);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return -errno;
  return static_cast<size_t>(sent) == state.size() ? 0 : -EMSGSIZE;
}

int Flock(int fd, bool lock) {
  int status;
  do {
    status = flock(fd, lock ? LOCK_EX | LOCK_NB : LOCK_UN);
  } while (status < 0 && errno == EINTR);
  return status < 0 ? -errno : 0;
}

int GetLimit(int resource, uint64_t* soft, uint64_t* hard) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) < 0) return -errno;
  *soft = limit.rlim_cur;
  *hard = limit.rlim_max;
  return 0;
}

int SetLimit(int resource, uint64_t soft, uint64_t hard) {
  rlimit limit{static_cast<rlim_t>(soft), static_cast<rlim_t>(hard)};
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit) < 0 ? -errno : 0;
}

}  // namespace kubelet
