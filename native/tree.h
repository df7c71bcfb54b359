// Path checks and walks of whole trees that may wait for a file system: the usage of a tree, and its ownership.
// Invariants: a walk opens each directory below the descriptor of the one above and follows no link, so that exchanging a directory
// for a link meanwhile has no effect; it stays on its file system; its descriptors are bounded by kTreeLevelsMax.
#ifndef KUBELET_NATIVE_TREE_H_
#define KUBELET_NATIVE_TREE_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace kubelet {

// Below these a tree isn't entered: what is there is counted as left out.
constexpr int kTreeLevelsMax = 200;

struct PathStatus {
  uint64_t mode, device, inode, uid, gid;
};

// 0 or negative errno.
int StatPath(const std::string& path, bool follow, PathStatus* out);

struct TreeUsage {
  uint64_t bytes;
  // The root is one of them.
  uint64_t inodes;
  // Visited entries, including other names of one file.
  uint64_t entries;
  // Some were left out: for their number, their depth, or since they can't be read.
  bool partial;
};

// As du(1) counts: allocated blocks, a file with several names once, what vanishes meanwhile not at all. 0 or negative errno of the root.
int MeasureTree(const std::string& path, uint64_t entries_max, TreeUsage* out);

struct Ownership {
  uint32_t gid;
  // Added to the modes.
  uint32_t file_bits, directory_bits;
  // Nothing is done when the root has the group and all bits.
  bool on_root_mismatch;
};

struct OwnershipOutcome {
  bool walked;
  // The root's before.
  uint32_t gid;
  uint64_t entries, failures;
};

// Everything below the root, then the root: a walk that was cut off leaves a root that doesn't match. Links get the group alone. 0 or
// negative errno of the root; what vanishes is nothing, what can't be changed is a failure. `progress`, which other threads may read, grows
// with each entry that was dealt with; it may be null.
int SetTreeOwnership(const std::string& path, const Ownership& ownership, OwnershipOutcome* out, std::atomic<uint64_t>* progress = nullptr);

}  // namespace kubelet

#endif  // KUBELET_NATIVE_TREE_H_
