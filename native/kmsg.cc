#include "kmsg.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace kubelet {

int OpenKmsg(const std::string& path, bool from_oldest, UniqueFd* out) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return -errno;
  // SEEK_SET moves to the oldest record. A pipe (a test's substitute) has no position: ESPIPE is no failure.
  if (lseek(fd.get(), 0, from_oldest ? SEEK_SET : SEEK_END) < 0 && errno != ESPIPE) return -errno;
  *out = std::move(fd);
  return 0;
}

int DrainKmsg(const KmsgRead& read_record, size_t records_max, KmsgBatch* batch) {
  // The kernel's own limit for an extended record is 8 KiB; a smaller buffer is answered with EINVAL.
  std::vector<char> buffer(16 * 1024);
  size_t reads = 0;
  // An overrun counts towards the limit, so that a log written faster than it is read can't hold the loop.
  while (reads < records_max) {
    ssize_t got = read_record(buffer.data(), buffer.size());
    if (got > 0) {
      batch->records.emplace_back(buffer.data(), static_cast<size_t>(got));
    } else if (got == 0) {
      return -ENODATA;
    } else if (got == -EPIPE) {
      batch->overruns++;
    } else if (got == -EINTR) {
      // Counts too: bounded under a storm of signals.
    } else {
      return got == -EAGAIN ? 0 : static_cast<int>(got);
    }
    reads++;
  }
  return 0;
}

KmsgRead KmsgReadFrom(int fd) {
  return [fd](char* buffer, size_t size) -> ssize_t {
    ssize_t got = read(fd, buffer, size);
    return got < 0 ? -errno : got;
  };
}

}  // namespace kubelet
