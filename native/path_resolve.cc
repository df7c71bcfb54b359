#include "path_resolve.h"

#include <cerrno>
#include <climits>
#include <deque>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace kubelet {

namespace {

// The kernel's own limit of links followed in one lookup.
constexpr int kSymlinksMax = 40;
// openat2 answers EAGAIN when a rename elsewhere raced with a ".."; a handful of tries is what its manual page asks for.
constexpr int kRetriesMax = 32;

void PushElements(const std::string& path, std::deque<std::string>* elements) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (at < path.size()) {
    size_t end = path.find('/', at);
    if (end == std::string::npos) end = path.size();
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  elements->insert(elements->begin(), parts.begin(), parts.end());
}

int ReadLink(int fd, std::string* target) {
  std::vector<char> buffer(PATH_MAX);
  ssize_t size = readlinkat(fd, "", buffer.data(), buffer.size());
  if (size < 0) return -errno;
  if (static_cast<size_t>(size) == buffer.size()) return -ENAMETOOLONG;
  target->assign(buffer.data(), static_cast<size_t>(size));
  return 0;
}

}  // namespace

int WalkBeneath(int root_fd, const std::string& path, int flags, mode_t mode, bool follow_symlinks, UniqueFd* out) {
  if (!path.empty() && path[0] == '/') return -EXDEV;
  if (path.empty()) return -ENOENT;
  std::deque<std::string> elements;
  PushElements(path, &elements);
  if (elements.empty()) elements.push_back(".");
  if (path.back() == '/') flags |= O_DIRECTORY;
  // Directories entered so far; ".." leaves the last one, so it can't be raced out of the root.
  std::vector<UniqueFd> entered;
  int symlinks = 0;
  while (true) {
    std::string name = elements.front();
    elements.pop_front();
    int directory = entered.empty() ? root_fd : entered.back().get();
    if (name == "..") {
      if (entered.empty()) return -EXDEV;
      entered.pop_back();
      if (elements.empty()) elements.push_back(".");
      continue;
    }
    bool last = elements.empty();
    if (last) {
      UniqueFd fd(openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
      // With O_PATH the link itself would be opened.
      struct stat opened;
      bool link = fd.valid() ? fstat(fd.get(), &opened) == 0 && S_ISLNK(opened.st_mode) && (flags & O_NOFOLLOW) == 0 : errno == ELOOP || errno == ENOTDIR;
      if (!link) {
        if (!fd.valid()) return -errno;
        *out = std::move(fd);
        return 0;
      }
    }
    UniqueFd element(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!element.valid()) return -errno;
    struct stat entry;
    if (fstat(element.get(), &entry) < 0) return -errno;
    if (S_ISLNK(entry.st_mode)) {
      if (!follow_symlinks || (last && (flags & O_NOFOLLOW) != 0) || ++symlinks > kSymlinksMax) return -ELOOP;
      std::string target;
      int status = ReadLink(element.get(), &target);
      if (status < 0) return status;
      if (target.empty()) return -ENOENT;
      if (target[0] == '/') return -EXDEV;
      PushElements(target, &elements);
      if (elements.empty()) elements.push_back(".");
      continue;
    }
    if (last || !S_ISDIR(entry.st_mode)) return -ENOTDIR;
    entered.push_back(std::move(element));
  }
}

int OpenBeneath(int root_fd, const std::string& path, int flags, mode_t mode, uint64_t resolve, UniqueFd* out) {
  if ((resolve & RESOLVE_BENEATH) == 0) return -EINVAL;
  open_how how{};
  how.flags = static_cast<uint64_t>(static_cast<uint32_t>(flags | O_CLOEXEC));
  how.mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0;
  how.resolve = resolve;
  int error = EAGAIN;
  for (int tries = 0; tries < kRetriesMax && (error == EAGAIN || error == EINTR); tries++) {
    UniqueFd fd(static_cast<int>(syscall(SYS_openat2, root_fd, path.c_str(), &how, sizeof how)));
    if (fd.valid()) {
      *out = std::move(fd);
      return 0;
    }
    error = errno;
  }
  if (error == ENOSYS) return WalkBeneath(root_fd, path, flags, mode, (resolve & RESOLVE_NO_SYMLINKS) == 0, out);
  return -error;
}

}  // namespace kubelet
