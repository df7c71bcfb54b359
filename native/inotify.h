// inotify(7) in batches, with the queue's overflow reported.
// Invariant: an event is in `records` (three numbers) and `names` (one string), or `lost` is set; nothing is skipped silently.
#ifndef KUBELET_NATIVE_INOTIFY_H_
#define KUBELET_NATIVE_INOTIFY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fd_watch.h"

namespace kubelet {

struct InotifyBatch {
  // Watch descriptor, mask, cookie of each event.
  std::vector<int32_t> records;
  // The entry's name, empty for the watched object itself.
  std::vector<std::string> names;
  // The kernel dropped events (IN_Q_OVERFLOW): the reader must list everything.
  bool lost = false;
};

int OpenInotify(UniqueFd* out);

// The watch descriptor, above 0.
int AddInotifyWatch(int fd, const std::string& path, uint32_t mask);

int RemoveInotifyWatch(int fd, int wd);

// Appends the events in `bytes`; -EBADMSG when they end in the middle of one.
int ParseInotify(const char* bytes, size_t size, InotifyBatch* batch);

// Reads until nothing is left or `bytes_max` is reached (the poll fires again for the rest).
int DrainInotify(int fd, size_t bytes_max, InotifyBatch* batch);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_INOTIFY_H_
