// Descriptors: their owner, and the kernel's two kinds of memory and pressure trigger.
// Invariant: the holder of a UniqueFd closes it, once. Every function returns 0 or more for success, a negative errno otherwise.
#ifndef KUBELET_NATIVE_FD_WATCH_H_
#define KUBELET_NATIVE_FD_WATCH_H_

#include <cstdint>
#include <string>

namespace kubelet {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// A pressure stall trigger: opens `path` (/proc/pressure/* or a cgroup's *.pressure) and writes
// "some|full <stall us> <window us>". The descriptor then answers to POLLPRI.
int OpenPsiTrigger(const std::string& path, const std::string& trigger, UniqueFd* out);

// True once the trigger can never fire again (its cgroup was removed). Such a descriptor reports POLLPRI for ever,
// so a caller that doesn't ask would spin.
bool PsiTriggerIsDead(int fd);

// A cgroup v1 event: an eventfd registered in `control_path` (cgroup.event_control) for `target_path`
// (memory.usage_in_bytes, memory.oom_control, memory.pressure_level) with `arguments` (a byte count, a level, or nothing).
// It also fires when the cgroup is removed.
int OpenCgroupEvent(const std::string& control_path, const std::string& target_path, const std::string& arguments, UniqueFd* out);

// Takes the count out of an eventfd; 0 when it has not fired.
int DrainEventFd(int fd, uint64_t* count);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_FD_WATCH_H_
