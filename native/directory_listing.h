// Directories as streams over descriptors, for walks that go from a directory to the one below it and by no path.
#ifndef KUBELET_NATIVE_DIRECTORY_LISTING_H_
#define KUBELET_NATIVE_DIRECTORY_LISTING_H_

#include <dirent.h>
#include <fcntl.h>
#include <memory>

#include "fd_watch.h"

namespace kubelet {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// The directory as a stream; takes the descriptor over. Null: errno says why.
inline Directory Listing(UniqueFd fd) {
  DIR* directory = fdopendir(fd.get());
  if (directory != nullptr) fd.release();
  return Directory(directory);
}

inline bool IsSelfOrParent(const char* name) { return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')); }

}  // namespace kubelet

#endif  // KUBELET_NATIVE_DIRECTORY_LISTING_H_
