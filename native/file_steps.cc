#include "file_steps.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kubelet {

const int kStepNotDone = -ECANCELED;

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// kRemoveTree: this bit of `number` says that files go, the rest how many levels are entered.
constexpr int32_t kRemovesFiles = 1 << 16;
constexpr int32_t kDirectoriesOnly = 1;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

int Checked(int result) { return result < 0 ? -errno : result; }

Directory Listing(UniqueFd fd) {
  DIR* directory = fdopendir(fd.get());
  if (directory != nullptr) fd.release();
  return Directory(directory);
}

// The directory `name` below `at`, or `at` itself for no name, to be listed.
Directory OpenListing(int at, const std::string& name) {
  UniqueFd fd(openat(at, name.empty() ? "." : name.c_str(), kDirectoryFlags));
  return fd.valid() ? Listing(std::move(fd)) : Directory();
}

bool IsSelfOrParent(const char* name) { return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')); }

bool IsDirectory(int at, const dirent* entry) {
  if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
  struct stat status;
  return fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

int Enter(int at, const std::string& name, UniqueFd* out) {
  UniqueFd fd(openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid()) {
    *out = std::move(fd);
    return 0;
  }
  int error = errno;
  struct stat status;
  if (error == ENOTDIR && fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) return -ELOOP;
  return -error;
}

int Look(int at, const std::string& name) {
  struct stat status;
  if (fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return -errno;
  return static_cast<int>(status.st_mode);
}

// `d` or `-` and the name of each entry, with a slash between two of them.
int List(int at, const FileStep& step, std::string* out) {
  Directory directory = OpenListing(at, step.name);
  if (directory == nullptr) return -errno;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr) return -errno;
    if (IsSelfOrParent(entry->d_name)) continue;
    bool is_directory = IsDirectory(dirfd(directory.get()), entry);
    if (step.number == kDirectoriesOnly && !is_directory) continue;
    if (!out->empty()) out->push_back('/');
    out->push_back(is_directory ? 'd' : '-');
    out->append(entry->d_name);
  }
}

// A regular file of at most so many bytes; never blocks on a FIFO.
int Read(int at, const std::string& name, size_t bytes_max, std::string* out) {
  UniqueFd fd(openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return -errno;
  struct stat status;
  if (fstat(fd.get(), &status) < 0) return -errno;
  if (!S_ISREG(status.st_mode)) return -EINVAL;
  char buffer[16384];
  for (;;) {
    ssize_t count = read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if (count == 0) return static_cast<int>(out->size());
    out->append(buffer, static_cast<size_t>(count));
    if (out->size() > bytes_max) {
      out->clear();
      return -EFBIG;
    }
  }
}

int WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    ssize_t count = write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    done += static_cast<size_t>(count);
  }
  return 0;
}

// A new file with exactly this mode, independent of the umask; none on failure.
int Create(int at, const std::string& name, mode_t mode, const std::string& text) {
  UniqueFd fd(openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.valid()) return -errno;
  int status = WriteAll(fd.get(), text);
  if (status == 0) status = Checked(fchmod(fd.get(), mode));
  if (status < 0) unlinkat(at, name.c_str(), 0);
  return status;
}

bool HoldsAlready(int at, const std::string& name, mode_t mode, const std::string& text) {
  struct stat status;
  if (fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) return false;
  if (status.st_mode != (S_IFREG | mode) || static_cast<size_t>(status.st_size) != text.size()) return false;
  std::string found;
  return Read(at, name, text.size(), &found) >= 0 && found == text;
}

// 1: written beside it and renamed over it; 0: it held the same already, and keeps its inode.
int Replace(int at, const std::string& name, mode_t mode, const std::string& text) {
  if (HoldsAlready(at, name, mode, text)) return 0;
  std::string temporary = "." + name + ".tmp";
  if (unlinkat(at, temporary.c_str(), 0) < 0 && errno != ENOENT) return -errno;
  int status = Create(at, temporary, mode, text);
  if (status < 0) return status;
  return renameat(at, temporary.c_str(), at, name.c_str()) < 0 ? -errno : 1;
}

int Write(int at, const std::string& name, const std::string& text) {
  UniqueFd fd(openat(at, name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return -errno;
  // The kernel's own files want it in one call.
  ssize_t count = write(fd.get(), text.data(), text.size());
  if (count < 0) return -errno;
  return static_cast<size_t>(count) == text.size() ? 0 : -EIO;
}

int ReadLink(int at, const std::string& name, std::string* out) {
  char target[4096];
  ssize_t count = readlinkat(at, name.c_str(), target, sizeof target);
  if (count < 0) return -errno;
  out->assign(target, static_cast<size_t>(count));
  return 0;
}

// The kernel's number of the mount that a descriptor is on: a bind of the same file system has the same device, but never the same mount.
int MountOf(int fd) {
  std::string text;
  int status = Read(AT_FDCWD, "/proc/self/fdinfo/" + std::to_string(fd), 1 << 16, &text);
  if (status < 0) return status;
  size_t found = text.find("mnt_id:");
  int id = 0;
  return found != std::string::npos && std::sscanf(text.c_str() + found, "mnt_id: %d", &id) == 1 ? id : -ENOTSUP;
}

// Removes an entry and what is below it, never anything on another mount. Directories `levels` deep are entered, those below must be empty; a
// file ends it with -ENOTDIR unless files go too. `failed_at`: from `at`, what couldn't be removed.
int RemoveTree(int at, const std::string& name, int levels, bool removes_files, std::string* failed_at) {
  int mode = Look(at, name);
  if (mode == -ENOENT) return 0;
  *failed_at = name;
  if (mode < 0) return mode;
  bool is_directory = S_ISDIR(static_cast<mode_t>(mode));
  if (!is_directory && !removes_files) return -ENOTDIR;
  if (is_directory && levels > 0) {
    Directory directory = OpenListing(at, name);
    if (directory == nullptr && errno != ENOENT) return -errno;
    if (directory != nullptr) {
      int below = dirfd(directory.get());
      int mount = MountOf(below);
      if (mount < 0) return mount;
      if (mount != MountOf(at)) return -EBUSY;
      std::vector<std::string> names;
      while (const dirent* entry = readdir(directory.get()))
        if (!IsSelfOrParent(entry->d_name)) names.push_back(entry->d_name);
      for (const std::string& entry : names) {
        std::string failed_below;
        int status = RemoveTree(below, entry, levels - 1, removes_files, &failed_below);
        if (status == 0) continue;
        *failed_at = name + "/" + failed_below;
        return status;
      }
    }
  }
  if (unlinkat(at, name.c_str(), is_directory ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT) return -errno;
  failed_at->clear();
  return 0;
}

// Directories of a file system whose files can't be removed and don't count: cgroups. 1: it is gone now; 0: it, or one below it, is busy.
int RemoveDirectories(int at, const std::string& name, int levels) {
  if (unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return 1;
  if (errno != EBUSY && errno != ENOTEMPTY) return -errno;
  if (levels == 0) return 0;
  std::vector<std::string> names;
  Directory directory = OpenListing(at, name);
  if (directory == nullptr) return errno == ENOENT ? 1 : -errno;
  while (const dirent* entry = readdir(directory.get()))
    if (!IsSelfOrParent(entry->d_name) && IsDirectory(dirfd(directory.get()), entry)) names.push_back(entry->d_name);
  if (names.empty()) return 0;
  for (const std::string& entry : names) {
    int gone = RemoveDirectories(dirfd(directory.get()), entry, levels - 1);
    if (gone != 1) return gone;
  }
  return RemoveDirectories(at, name, 0);
}

// Blanks and backslashes are written in octal.
std::string Unescaped(const char* from, size_t size) {
  std::string path;
  for (size_t i = 0; i < size; i++) {
    if (from[i] == '\\' && i + 3 < size) {
      path.push_back(static_cast<char>((from[i + 1] - '0') * 64 + (from[i + 2] - '0') * 8 + (from[i + 3] - '0')));
      i += 3;
    } else {
      path.push_back(from[i]);
    }
  }
  return path;
}

// -EBUSY when something is mounted on the path, as the kernel names it, or below it: `found` is where.
int NoMountBelow(const std::string& path, std::string* found) {
  std::string text;
  int status = Read(AT_FDCWD, "/proc/self/mountinfo", size_t{1} << 26, &text);
  if (status < 0) return status;
  for (size_t line = 0; line < text.size();) {
    size_t end = text.find('\n', line);
    if (end == std::string::npos) end = text.size();
    size_t from = line;
    for (int field = 0; field < 4 && from < end; field++) {
      from = text.find(' ', from);
      from = from == std::string::npos ? end : from + 1;
    }
    size_t to = text.find(' ', from);
    if (to != std::string::npos && to < end) {
      std::string mount_point = Unescaped(text.data() + from, to - from);
      if (mount_point.compare(0, path.size(), path) == 0 && (mount_point.size() == path.size() || mount_point[path.size()] == '/')) {
        *found = mount_point;
        return -EBUSY;
      }
    }
    line = end + 1;
  }
  return 0;
}

int DoFileStep(const FileStep& step, int at, std::vector<UniqueFd>* slots, std::string* text) {
  const char* name = step.name.c_str();
  switch (step.kind) {
    case FileStepKind::kEnter:
      return Enter(at, step.name, &(*slots)[static_cast<size_t>(step.into)]);
    case FileStepKind::kMakeDirectory:
      return Checked(mkdirat(at, name, static_cast<mode_t>(step.number)));
    case FileStepKind::kLook:
      return Look(at, step.name);
    case FileStepKind::kList:
      return List(at, step, text);
    case FileStepKind::kRead:
      return Read(at, step.name, static_cast<size_t>(step.number), text);
    case FileStepKind::kCreate:
      return Create(at, step.name, static_cast<mode_t>(step.number), step.text);
    case FileStepKind::kReplace:
      return Replace(at, step.name, static_cast<mode_t>(step.number), step.text);
    case FileStepKind::kWrite:
      return Write(at, step.name, step.text);
    case FileStepKind::kUnlink:
      return Checked(unlinkat(at, name, 0));
    case FileStepKind::kRemoveDirectory:
      return Checked(unlinkat(at, name, AT_REMOVEDIR));
    case FileStepKind::kRename:
      return Checked(renameat(at, name, at, step.text.c_str()));
    case FileStepKind::kLink:
      return Checked(symlinkat(step.text.c_str(), at, name));
    case FileStepKind::kReadLink:
      return ReadLink(at, step.name, text);
    case FileStepKind::kRemoveTree:
      return RemoveTree(at, step.name, step.number & (kRemovesFiles - 1), (step.number & kRemovesFiles) != 0, text);
    case FileStepKind::kRemoveDirectories:
      return RemoveDirectories(at, step.name, step.number);
    case FileStepKind::kNoMountBelow:
      return NoMountBelow(step.name, text);
  }
  return -EINVAL;
}

bool IsTolerated(int status, int32_t tolerated) {
  if (status >= 0 || (tolerated & kTolerateAny) != 0) return true;
  return (status == -ENOENT && (tolerated & kTolerateAbsent) != 0) || (status == -EEXIST && (tolerated & kToleratePresent) != 0);
}

}  // namespace

std::vector<FileStepOutcome> DoFileSteps(std::vector<UniqueFd> slots, const std::vector<FileStep>& steps) {
  std::vector<FileStepOutcome> outcomes;
  outcomes.reserve(steps.size());
  bool ended = false;
  for (const FileStep& step : steps) {
    FileStepOutcome outcome{kStepNotDone, {}};
    bool is_absolute = step.directory < 0;
    if (!ended && (is_absolute || slots[static_cast<size_t>(step.directory)].valid())) {
      int at = is_absolute ? AT_FDCWD : slots[static_cast<size_t>(step.directory)].get();
      outcome.status = DoFileStep(step, at, &slots, &outcome.text);
      ended = !IsTolerated(outcome.status, step.tolerated);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace kubelet
