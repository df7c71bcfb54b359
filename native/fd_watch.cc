#include "fd_watch.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace kubelet {

void UniqueFd::reset(int fd) {
  // close() is never repeated on EINTR: Linux has already freed the number.
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

namespace {

int WriteWhole(int fd, const char* bytes, size_t size) {
  ssize_t written;
  do {
    written = write(fd, bytes, size);
  } while (written < 0 && errno == EINTR);
  if (written < 0) return -errno;
  return static_cast<size_t>(written) == size ? 0 : -EIO;
}

}  // namespace

int OpenPsiTrigger(const std::string& path, const std::string& trigger, UniqueFd* out) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return -errno;
  // The kernel wants the terminating zero as part of the write.
  int status = WriteWhole(fd.get(), trigger.c_str(), trigger.size() + 1);
  if (status < 0) return status;
  *out = std::move(fd);
  return 0;
}

bool PsiTriggerIsDead(int fd) {
  pollfd entry{fd, POLLPRI, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLERR | POLLNVAL)) != 0;
}

int OpenCgroupEvent(const std::string& control_path, const std::string& target_path, const std::string& arguments, UniqueFd* out) {
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return -errno;
  UniqueFd target(open(target_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!target.valid()) return -errno;
  UniqueFd control(open(control_path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!control.valid()) return -errno;
  std::string line = std::to_string(event.get()) + " " + std::to_string(target.get());
  if (!arguments.empty()) line += " " + arguments;
  int status = WriteWhole(control.get(), line.c_str(), line.size());
  if (status < 0) return status;
  // The kernel holds its own references to the target; only the eventfd has to live.
  *out = std::move(event);
  return 0;
}

int DrainEventFd(int fd, uint64_t* count) {
  *count = 0;
  uint64_t value = 0;
  ssize_t got;
  do {
    got = read(fd, &value, sizeof value);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? 0 : -errno;
  if (got != sizeof value) return -EIO;
  *count = value;
  return 0;
}

}  // namespace kubelet
