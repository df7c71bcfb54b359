// /dev/kmsg, record by record, with the ring buffer's overrun reported.
// Invariant: a record that the kernel overwrote before it was read is counted in `overruns`.
#ifndef KUBELET_NATIVE_KMSG_H_
#define KUBELET_NATIVE_KMSG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "fd_watch.h"

namespace kubelet {

struct KmsgBatch {
  // Raw records: "prio,seq,usec,flags;text\n KEY=value\n".
  std::vector<std::string> records;
  // Times the kernel said that records were overwritten (EPIPE).
  int32_t overruns = 0;
};

// read(2) of one record; a parameter so that an overrun can be tested without flooding the kernel's log.
using KmsgRead = std::function<ssize_t(char* buffer, size_t size)>;

// From the oldest record, or only those that come after this call.
int OpenKmsg(const std::string& path, bool from_oldest, UniqueFd* out);

// Up to `records_max` records. -ENODATA at the end of the file (which a real /dev/kmsg has not).
int DrainKmsg(const KmsgRead& read_record, size_t records_max, KmsgBatch* batch);

KmsgRead KmsgReadFrom(int fd);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_KMSG_H_
