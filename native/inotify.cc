#include "inotify.h"

#include <cerrno>
#include <cstring>
#include <sys/inotify.h>
#include <unistd.h>

namespace kubelet {

int OpenInotify(UniqueFd* out) {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) return -errno;
  *out = std::move(fd);
  return 0;
}

int AddInotifyWatch(int fd, const std::string& path, uint32_t mask) {
  int wd = inotify_add_watch(fd, path.c_str(), mask);
  return wd < 0 ? -errno : wd;
}

int RemoveInotifyWatch(int fd, int wd) { return inotify_rm_watch(fd, wd) < 0 ? -errno : 0; }

int ParseInotify(const char* bytes, size_t size, InotifyBatch* batch) {
  size_t at = 0;
  while (at < size) {
    inotify_event event;
    if (size - at < sizeof event) return -EBADMSG;
    // Copied out: the buffer need not be aligned.
    std::memcpy(&event, bytes + at, sizeof event);
    at += sizeof event;
    if (size - at < event.len) return -EBADMSG;
    const char* name = bytes + at;
    at += event.len;
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      batch->lost = true;
      continue;
    }
    batch->records.push_back(event.wd);
    batch->records.push_back(static_cast<int32_t>(event.mask));
    batch->records.push_back(static_cast<int32_t>(event.cookie));
    // The name is padded with zeros up to `len`.
    batch->names.emplace_back(name, strnlen(name, event.len));
  }
  return 0;
}

int DrainInotify(int fd, size_t bytes_max, InotifyBatch* batch) {
  // One event with the longest name needs 16 + 256 bytes; a large buffer is what makes a burst cheap.
  std::vector<char> buffer(64 * 1024);
  size_t total = 0;
  while (total < bytes_max) {
    ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? 0 : -errno;
    }
    if (got == 0) return 0;
    int status = ParseInotify(buffer.data(), static_cast<size_t>(got), batch);
    if (status < 0) return status;
    total += static_cast<size_t>(got);
  }
  return 0;
}

}  // namespace kubelet
