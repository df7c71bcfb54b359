// The core's own tests, without Node: temporary directories, pipes and the real kernel. Built plainly and with the sanitizers
// by scripts/native-core-test.mjs. Prints one line a test; the exit code is the number of failures.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <linux/openat2.h>
#include <linux/quota.h>
#include <string>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../fd_watch.h"
#include "../file_batch.h"
#include "../file_steps.h"
#include "../inotify.h"
#include "../kmsg.h"
#include "../misc.h"
#include "../mount.h"
#include "../number_forms.h"
#include "../path_resolve.h"
#include "../project_quota.h"
#include "../tree.h"

using namespace kubelet;

static int failures = 0;

// Intercepts the core's system calls by number: a test answers quotactl(2), which few test hosts' kernels support.
struct AnsweredQuotactl {
  long number;
  int command;
  std::string device;
  uint32_t project;
  if_dqblk block;
};
static std::function<int(const AnsweredQuotactl& asked, if_dqblk* block)> quotactl_answer;

extern "C" long syscall(long number, ...) noexcept {
  va_list given;
  va_start(given, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(given, long);
  va_end(given);
  constexpr long kQuotactlFd = 443;
  if (quotactl_answer && (number == kQuotactlFd || number == SYS_quotactl)) {
    bool by_fd = number == kQuotactlFd;
    auto* block = reinterpret_cast<if_dqblk*>(arguments[3]);
    AnsweredQuotactl asked{number, static_cast<int>(by_fd ? arguments[1] : arguments[0]), by_fd ? "" : reinterpret_cast<const char*>(arguments[1]),
                           static_cast<uint32_t>(arguments[2]), *block};
    int answer = quotactl_answer(asked, block);
    errno = -answer;
    return answer < 0 ? -1 : 0;
  }
  static auto* real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      failures++;                                                         \
      std::printf("not ok %s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                     \
  } while (0)

static std::string directory;

static std::string At(const std::string& name) { return directory + "/" + name; }

static void WriteText(const std::string& path, const std::string& text) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  EXPECT(fd.valid());
  EXPECT(write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

static int OpenDescriptors() {
  int count = 0;
  DIR* entries = opendir("/proc/self/fd");
  while (readdir(entries) != nullptr) count++;
  closedir(entries);
  return count;
}

static void TestInotifyEvents() {
  UniqueFd fd;
  EXPECT(OpenInotify(&fd) == 0);
  EXPECT(AddInotifyWatch(fd.get(), At("absent"), IN_CREATE) == -ENOENT);
  int wd = AddInotifyWatch(fd.get(), directory, IN_CREATE | IN_DELETE);
  EXPECT(wd > 0);
  WriteText(At("seen"), "x");
  unlink(At("seen").c_str());
  InotifyBatch batch;
  EXPECT(DrainInotify(fd.get(), 1 << 20, &batch) == 0);
  EXPECT(batch.names.size() == 2 && batch.names[0] == "seen" && batch.names[1] == "seen");
  EXPECT(batch.records.size() == 6 && batch.records[0] == wd && batch.records[1] == IN_CREATE && batch.records[4] == IN_DELETE);
  EXPECT(!batch.lost);
  EXPECT(RemoveInotifyWatch(fd.get(), wd) == 0);
  EXPECT(RemoveInotifyWatch(fd.get(), wd) == -EINVAL);
}

static void TestInotifyOverflow() {
  UniqueFd fd;
  EXPECT(OpenInotify(&fd) == 0);
  EXPECT(AddInotifyWatch(fd.get(), directory, IN_CREATE | IN_DELETE) > 0);
  int limit = 16384;
  if (FILE* file = std::fopen("/proc/sys/fs/inotify/max_queued_events", "r")) {
    EXPECT(std::fscanf(file, "%d", &limit) == 1);
    std::fclose(file);
  }
  if (limit > 100000) return;
  for (int count = 0; count < limit; count++) {
    WriteText(At("burst"), "");
    unlink(At("burst").c_str());
  }
  InotifyBatch batch;
  EXPECT(DrainInotify(fd.get(), SIZE_MAX, &batch) == 0);
  EXPECT(batch.lost);
  EXPECT(batch.names.size() == static_cast<size_t>(limit));
}

// For any bytes: no read outside them, and records and names stay in step. The sanitizer build enforces this strictly.
static void TestInotifyParserOnNoise() {
  uint64_t random = 12345;
  for (int round = 0; round < 20000; round++) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    std::vector<char> bytes(random >> 58);
    for (char& byte : bytes) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      byte = (random >> 40) % 3 == 0 ? static_cast<char>(random >> 56) : 0;
    }
    InotifyBatch batch;
    int status = ParseInotify(bytes.data(), bytes.size(), &batch);
    EXPECT(status == 0 || status == -EBADMSG);
    EXPECT(batch.records.size() == batch.names.size() * 3);
  }
}

static void TestKmsgOverrun() {
  std::vector<ssize_t> replies{5, -EPIPE, -EINTR, 5, -EAGAIN};
  size_t at = 0;
  KmsgRead read_record = [&](char* buffer, size_t size) -> ssize_t {
    std::memcpy(buffer, "hello", 5);
    return replies[at++];
  };
  KmsgBatch batch;
  EXPECT(DrainKmsg(read_record, 100, &batch) == 0);
  EXPECT(batch.records.size() == 2 && batch.records[1] == "hello");
  EXPECT(batch.overruns == 1);
  KmsgBatch endless;
  EXPECT(DrainKmsg([](char*, size_t) -> ssize_t { return -EPIPE; }, 10, &endless) == 0);
  EXPECT(endless.overruns == 10);
  EXPECT(DrainKmsg([](char*, size_t) -> ssize_t { return 0; }, 10, &endless) == -ENODATA);
  EXPECT(DrainKmsg([](char*, size_t) -> ssize_t { return -EIO; }, 10, &endless) == -EIO);
}

static void TestKmsgPipe() {
  EXPECT(mkfifo(At("fifo").c_str(), 0600) == 0);
  UniqueFd reader;
  EXPECT(OpenKmsg(At("fifo"), false, &reader) == 0);
  UniqueFd writer(open(At("fifo").c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT(write(writer.get(), "6,1,2,-;text\n", 13) == 13);
  KmsgBatch batch;
  EXPECT(DrainKmsg(KmsgReadFrom(reader.get()), 10, &batch) == 0);
  EXPECT(batch.records.size() == 1 && batch.records[0] == "6,1,2,-;text\n");
  EXPECT(OpenKmsg(At("absent"), true, &reader) == -ENOENT);
}

struct Answer {
  std::vector<FileBatchItem> items;
  std::string text;
};

static Answer ReadBatch(FileBatch* batch, const std::vector<int32_t>& slots, size_t item_bytes_max) {
  Answer answer;
  answer.items.resize(slots.size());
  answer.text.resize(slots.size() * item_bytes_max);
  answer.text.resize(batch->Read(slots.data(), slots.size(), item_bytes_max, answer.text.data(), answer.items.data()));
  return answer;
}

static void TestFileBatchItems() {
  WriteText(At("a"), "alpha");
  WriteText(At("b"), "0123456789");
  WriteText(At("empty"), "");
  FileBatch batch(8);
  int32_t a = batch.Add(At("a")), b = batch.Add(At("b")), missing = batch.Add(At("missing")), empty = batch.Add(At("empty")), folder = batch.Add(directory);
  for (int round = 0; round < 2; round++) {
    Answer answer = ReadBatch(&batch, {a, missing, b, empty, folder, 999, -1}, 8);
    EXPECT(answer.text == "alpha01234567");
    EXPECT(answer.items[0].status == 5 && answer.items[0].truncated == 0);
    EXPECT(answer.items[1].status == -ENOENT);
    EXPECT(answer.items[2].status == 8 && answer.items[2].truncated == 1);
    EXPECT(answer.items[3].status == 0 && answer.items[3].truncated == 0);
    EXPECT(answer.items[4].status == -EISDIR);
    EXPECT(answer.items[5].status == -ENOENT && answer.items[6].status == -ENOENT);
  }
  EXPECT(batch.open_descriptors() == 3);
  EXPECT(ReadBatch(&batch, {b}, 10).items[0].truncated == 0);
  EXPECT(batch.Remove(b) == 0 && batch.Remove(b) == -ENOENT && batch.Remove(77) == -ENOENT);
  EXPECT(batch.open_descriptors() == 2);
  EXPECT(batch.Add(At("a")) == b);
}

static void TestFileBatchSeesReplacement() {
  FileBatch batch(8);
  WriteText(At("c"), "old");
  int32_t c = batch.Add(At("c"));
  EXPECT(ReadBatch(&batch, {c}, 64).text == "old");
  WriteText(At("c.new"), "new");
  EXPECT(rename(At("c.new").c_str(), At("c").c_str()) == 0);
  EXPECT(ReadBatch(&batch, {c}, 64).text == "new");
  unlink(At("c").c_str());
  EXPECT(ReadBatch(&batch, {c}, 64).items[0].status == -ENOENT);
  EXPECT(batch.open_descriptors() == 0);
  WriteText(At("c"), "again");
  EXPECT(ReadBatch(&batch, {c}, 64).text == "again");
}

static void TestFileBatchBound() {
  FileBatch batch(4);
  std::vector<int32_t> slots;
  for (int number = 0; number < 10; number++) {
    std::string path = At("n" + std::to_string(number));
    WriteText(path, std::to_string(number));
    slots.push_back(batch.Add(path));
  }
  int before = OpenDescriptors();
  for (int round = 0; round < 3; round++) {
    EXPECT(ReadBatch(&batch, slots, 16).text == "0123456789");
    EXPECT(batch.open_descriptors() == 4);
    EXPECT(OpenDescriptors() == before + 4);
  }
  // The kept ones age once others are read: two batches later their place is taken.
  std::vector<int32_t> others(slots.begin() + 5, slots.begin() + 8);
  for (int round = 0; round < 3; round++) EXPECT(ReadBatch(&batch, others, 16).text == "567");
  EXPECT(batch.open_descriptors() == 4);
  FileBatch none(0);
  int32_t only = none.Add(At("n1"));
  EXPECT(ReadBatch(&none, {only}, 16).text == "1");
  EXPECT(none.open_descriptors() == 0);
}

static void TestFileBatchProcess() {
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  FileBatch batch(4);
  int32_t slot = batch.Add("/proc/" + std::to_string(child) + "/stat");
  EXPECT(ReadBatch(&batch, {slot}, 4096).items[0].status > 0);
  kill(child, SIGKILL);
  EXPECT(waitpid(child, nullptr, 0) == child);
  EXPECT(ReadBatch(&batch, {slot}, 4096).items[0].status == -ENOENT);
  EXPECT(batch.open_descriptors() == 0);
}

static void TestFileBatchWholeSequenceFile() {
  // Handed out record by record, a page at most at a time; all of it has to come.
  FileBatch batch(4);
  int32_t slot = batch.Add("/proc/self/smaps");
  Answer answer = ReadBatch(&batch, {slot}, 4 << 20);
  EXPECT(answer.items[0].truncated == 0);
  EXPECT(answer.text.size() > 4096);
  EXPECT(answer.text.find("[stack]") != std::string::npos);
}

static std::vector<double> NumbersIn(NumberForm form, const std::vector<std::string>& keys, const std::string& text, bool truncated) {
  // Exactly as long as the text: a read beyond it is seen by the sanitizer.
  std::vector<char> exact(text.begin(), text.end());
  std::vector<double> numbers;
  NumbersOfText(form, keys, exact.data(), exact.size(), truncated, &numbers);
  for (double& number : numbers) {
    if (std::isnan(number)) number = -7;
  }
  return numbers;
}

static void TestNumberForms() {
  using Numbers = std::vector<double>;
  const std::string stat = "rss 1\ntotal_rss 22\ntotal_rss_huge 3\nMax open files            1024   4096   files\ntotal_rss 9\nodd x\n";
  EXPECT((NumbersIn(NumberForm::kKeyed, {"total_rss", "absent", "rss", "Max open files", "odd"}, stat, false) == Numbers{22, -7, 1, 1024, -7}));
  EXPECT((NumbersIn(NumberForm::kKeyed, {"a"}, "a 12", false) == Numbers{12}));
  EXPECT((NumbersIn(NumberForm::kKeyed, {"a"}, "a 12", true) == Numbers{-7}));
  EXPECT((NumbersIn(NumberForm::kWords, {}, "20000 100000\n", false) == Numbers{20000, 100000}));
  EXPECT((NumbersIn(NumberForm::kWords, {}, "max\n-1\n-\n1.50\n9223372036854771712\n99999999999999999999", false) == Numbers{-7, -1, -7, 1.5, 9223372036854771712.0, 1e20}));
  EXPECT((NumbersIn(NumberForm::kWords, {}, "12 3", true) == Numbers{12}));
  EXPECT((NumbersIn(NumberForm::kWords, {}, "12 ", true) == Numbers{12}));
  EXPECT(NumbersIn(NumberForm::kWords, {}, " \n", false).empty());
  EXPECT((NumbersIn(NumberForm::kAssigned, {}, "some avg10=12.34 total=5\nfull avg10=0.00 total=x=1", false) == Numbers{12.34, 5, 0, -7}));
  std::string noise;
  for (int round = 0; round < 2000; round++) {
    noise.clear();
    for (int at = 0; at < round % 40; at++) noise.push_back("0123456789-. =\nab"[(round * 31 + at * 17 + round / 7) % 17]);
    for (NumberForm form : {NumberForm::kWords, NumberForm::kKeyed, NumberForm::kAssigned}) EXPECT(NumbersIn(form, {"a", "ab", "0"}, noise, round % 2 == 0).size() <= 40);
  }
}

static void TestFileBatchNumbers() {
  WriteText(At("words"), "1 2\n");
  WriteText(At("plain"), "1");
  mkdir(At("folder").c_str(), 0700);
  mkdir(At("folder/inner").c_str(), 0700);
  FileBatch batch(8);
  std::vector<int32_t> slots = {
      batch.AddNumbers(At("words"), NumberForm::kWords, {}),      batch.AddNumbers(At("missing"), NumberForm::kWords, {}),
      batch.AddNumbers(At("words"), NumberForm::kKeyed, {"1"}),   batch.AddNumbers(At("words"), NumberForm::kLinks, {}),
      batch.AddNumbers(At("folder"), NumberForm::kSockets, {}),   batch.AddNumbers(At("absent"), NumberForm::kSockets, {}),
      batch.Add(At("plain")),                                     999,
  };
  for (int round = 0; round < 2; round++) {
    std::vector<double> numbers;
    std::vector<int32_t> counts(slots.size());
    batch.ReadNumbers(slots.data(), slots.size(), 64, &numbers, counts.data());
    EXPECT((counts == std::vector<int32_t>{2, -ENOENT, 1, -ENOTDIR, 2, -ENOENT, -EINVAL, -ENOENT}));
    EXPECT((numbers == std::vector<double>{1, 2, 2, 1, 0}));
  }
  EXPECT(batch.open_descriptors() == 2);
  int pair[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  int32_t own = batch.AddNumbers("/proc/self/fd", NumberForm::kSockets, {});
  std::vector<double> numbers;
  int32_t count = 0;
  batch.ReadNumbers(&own, 1, 64, &numbers, &count);
  EXPECT(count == 2 && numbers[1] >= 2 && numbers[0] > numbers[1]);
  close(pair[0]);
  close(pair[1]);
  EXPECT(batch.Remove(own) == 0);
}

static void TestFileBatchThreads() {
  FileBatch batch(4);
  std::vector<int32_t> slots;
  for (int number = 0; number < 8; number++) slots.push_back(batch.Add(At("n" + std::to_string(number))));
  auto reader = [&] {
    for (int round = 0; round < 200; round++) {
      if (ReadBatch(&batch, slots, 16).text != "01234567") std::abort();
    }
  };
  std::thread one(reader), two(reader);
  for (int round = 0; round < 200; round++) batch.Remove(batch.Add(At("a")));
  one.join();
  two.join();
  EXPECT(batch.open_descriptors() <= 4);
}

struct BeneathCase {
  const char* path;
  bool follow_symlinks;
  int expected;
};

static void TestBeneath() {
  std::string root = At("root");
  mkdir(root.c_str(), 0700);
  mkdir((root + "/d").c_str(), 0700);
  WriteText(root + "/d/f", "inside");
  WriteText(At("outside"), "outside");
  EXPECT(symlink("d/f", (root + "/good").c_str()) == 0);
  EXPECT(symlink("../outside", (root + "/bad").c_str()) == 0);
  EXPECT(symlink("/etc/passwd", (root + "/absolute").c_str()) == 0);
  EXPECT(symlink("loop", (root + "/loop").c_str()) == 0);
  EXPECT(symlink("d", (root + "/dirlink").c_str()) == 0);
  UniqueFd root_fd(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const BeneathCase kCases[] = {
      {"d/f", false, 0},           {"d/../d/f", false, 0},      {"./d//f", false, 0},      {".", false, 0},           {"d/..", false, 0},
      {"../outside", false, EXDEV}, {"d/../../outside", false, EXDEV}, {"/etc", false, EXDEV},    {"", false, ENOENT},       {"nothing", false, ENOENT},
      {"nothing/f", false, ENOENT}, {"d/f/x", false, ENOTDIR},   {"d/f/", false, ENOTDIR},  {"good", false, ELOOP},      {"dirlink/f", false, ELOOP},
      {"good", true, 0},           {"dirlink/f", true, 0},      {"bad", true, EXDEV},      {"absolute", true, EXDEV},   {"loop", true, ELOOP},
  };
  for (const BeneathCase& row : kCases) {
    for (bool walk : {false, true}) {
      UniqueFd fd;
      uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (row.follow_symlinks ? 0 : RESOLVE_NO_SYMLINKS);
      int status = walk ? WalkBeneath(root_fd.get(), row.path, O_RDONLY, 0, row.follow_symlinks, &fd) : OpenBeneath(root_fd.get(), row.path, O_RDONLY, 0, resolve, &fd);
      if (status != -row.expected) std::printf("# %s (%s): %d instead of %d\n", row.path, walk ? "walk" : "openat2", status, -row.expected);
      EXPECT(status == -row.expected);
      EXPECT(fd.valid() == (row.expected == 0));
      if (fd.valid()) EXPECT((fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
    }
  }
  for (bool walk : {false, true}) {
    UniqueFd fd;
    std::string name = walk ? "d/made-by-walk" : "d/made";
    int flags = O_CREAT | O_EXCL | O_WRONLY;
    EXPECT((walk ? WalkBeneath(root_fd.get(), name, flags, 0640, false, &fd) : OpenBeneath(root_fd.get(), name, flags, 0640, RESOLVE_BENEATH, &fd)) == 0);
    struct stat made;
    EXPECT(fstat(fd.get(), &made) == 0 && (made.st_mode & 0777) == 0640);
    EXPECT((walk ? WalkBeneath(root_fd.get(), name, flags, 0640, false, &fd) : OpenBeneath(root_fd.get(), name, flags, 0640, RESOLVE_BENEATH, &fd)) == -EEXIST);
  }
  UniqueFd fd;
  EXPECT(OpenBeneath(root_fd.get(), "d", O_RDONLY, 0, 0, &fd) == -EINVAL);
}

static void TestSdNotify() {
  UniqueFd receiver(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = At("notify");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  EXPECT(bind(receiver.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  EXPECT(SdNotify(path, "READY=1\nSTATUS=up") == 0);
  char buffer[64];
  ssize_t got = recv(receiver.get(), buffer, sizeof buffer, 0);
  EXPECT(got > 0 && std::string(buffer, static_cast<size_t>(got)) == "READY=1\nSTATUS=up");
  UniqueFd abstract(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::string name = "kubelet-core-test-" + std::to_string(getpid());
  sockaddr_un hidden{};
  hidden.sun_family = AF_UNIX;
  std::memcpy(hidden.sun_path + 1, name.data(), name.size());
  EXPECT(bind(abstract.get(), reinterpret_cast<sockaddr*>(&hidden), static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) == 0);
  EXPECT(SdNotify("@" + name, "WATCHDOG=1") == 0);
  EXPECT(recv(abstract.get(), buffer, sizeof buffer, 0) == 10);
  EXPECT(SdNotify(At("nobody"), "READY=1") == -ENOENT);
  EXPECT(SdNotify("vsock:1:2", "READY=1") == -EAFNOSUPPORT);
  EXPECT(SdNotify("", "READY=1") == -EAFNOSUPPORT);
  EXPECT(SdNotify("/" + std::string(200, 'x'), "READY=1") == -ENAMETOOLONG);
}

static void TestMisc() {
  FilesystemFigures figures;
  EXPECT(StatFilesystem("/", &figures) == 0 && figures.blocks > 0 && figures.block_bytes > 0);
  EXPECT(StatFilesystem(At("absent"), &figures) == -ENOENT);
  UniqueFd one(open(At("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), two(open(At("lock").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT(Flock(one.get(), true) == 0);
  EXPECT(Flock(two.get(), true) == -EWOULDBLOCK);
  EXPECT(Flock(one.get(), false) == 0);
  EXPECT(Flock(two.get(), true) == 0);
  EXPECT(Flock(-1, true) == -EBADF);
  uint64_t soft = 0, hard = 0;
  EXPECT(GetLimit(4, &soft, &hard) == 0);
  EXPECT(SetLimit(4, 0, hard) == 0 && GetLimit(4, &soft, &hard) == 0 && soft == 0);
  EXPECT(GetLimit(9999, &soft, &hard) == -EINVAL);
  EXPECT(SetLimit(4, 2, 1) == -EINVAL);
}

static void TestMounts() {
  EXPECT(IsMountRoot("/proc") == 1);
  EXPECT(IsMountRoot(directory) == 0);
  EXPECT(IsMountRoot(At("absent")) == -ENOENT);
  EXPECT(Unmount(directory, 0) == -EINVAL || geteuid() != 0);
  if (Mount("tmpfs", At("root"), "tmpfs", MS_NOSUID, "size=64k") == -EPERM) {
    std::printf("# mount: not allowed here\n");
    return;
  }
  EXPECT(IsMountRoot(At("root")) == 1);
  FilesystemFigures figures;
  EXPECT(StatFilesystem(At("root"), &figures) == 0 && figures.blocks * figures.block_bytes == 65536);
  EXPECT(Unmount(At("root"), 0) == 0);
  EXPECT(IsMountRoot(At("root")) == 0);
  EXPECT(Mount("none", At("root"), "no-such-type", 0, "") == -ENODEV);
}

static void TestTriggers() {
  UniqueFd fd;
  EXPECT(OpenPsiTrigger(At("absent"), "some 1 1", &fd) == -ENOENT);
  int status = OpenPsiTrigger("/proc/pressure/memory", "some 500000 2000000", &fd);
  if (status == 0) {
    EXPECT(!PsiTriggerIsDead(fd.get()));
    UniqueFd bad;
    EXPECT(OpenPsiTrigger("/proc/pressure/memory", "some 1 nonsense", &bad) == -EINVAL);
  } else {
    std::printf("# pressure triggers: errno %d\n", -status);
  }
  EXPECT(OpenCgroupEvent(At("absent"), At("absent"), "", &fd) == -ENOENT);
  uint64_t count = 1;
  EXPECT(DrainEventFd(-1, &count) == -EBADF && count == 0);
}

static void TestTreeUsage() {
  mkdir(At("usage").c_str(), 0700);
  mkdir(At("usage/d").c_str(), 0700);
  WriteText(At("usage/f"), std::string(10000, 'x'));
  EXPECT(link(At("usage/f").c_str(), At("usage/d/again").c_str()) == 0);
  EXPECT(symlink("/etc", At("usage/link").c_str()) == 0);
  TreeUsage usage;
  EXPECT(MeasureTree(At("usage"), 1000, &usage) == 0);
  // The root, the directory, the file once, the link itself.
  EXPECT(usage.inodes == 4 && !usage.partial);
  EXPECT(usage.bytes >= 10000 && usage.bytes < 64 * 1024);
  TreeUsage bounded;
  EXPECT(MeasureTree(At("usage"), 2, &bounded) == 0 && bounded.partial);
  EXPECT(MeasureTree(At("usage/none"), 10, &usage) == -ENOENT);
  std::string deep = At("deep");
  for (int level = 0; level < kTreeLevelsMax + 20; level++) {
    mkdir(deep.c_str(), 0700);
    deep += "/d";
  }
  int before = OpenDescriptors();
  EXPECT(MeasureTree(At("deep"), 1000, &usage) == 0 && usage.partial && usage.inodes > kTreeLevelsMax);
  EXPECT(OpenDescriptors() == before);
}

// Support depends on the file system: for any answer, only a project is changed, and refusals are errnos.
static void TestProjects() {
  mkdir(At("project").c_str(), 0700);
  mkdir(At("project/below").c_str(), 0700);
  ProjectOfDirectory seen;
  EXPECT(LookAtProject(At("project/none"), &seen) == -ENOENT);
  EXPECT(LookAtProject(At("project"), &seen) == 0 && seen.file_system != 0);
  EXPECT(seen.quota_errno >= 0 && seen.project == 0 && !seen.inherits);
  ProjectOutcome outcome;
  EXPECT(AssignProject(At("project/none"), 1048577, true, &outcome) == -ENOENT);
  symlink(At("project/below").c_str(), At("project/link").c_str());
  int through_link = AssignProject(At("project/link"), 1048577, true, &outcome);
  EXPECT(through_link == -ENOTDIR || through_link == -ELOOP);
  int status = AssignProject(At("project"), 1048577, true, &outcome);
  EXPECT(status <= 0);
  if (status == 0) {
    EXPECT(outcome.entries == 2 && outcome.failures == 0);
    EXPECT(LookAtProject(At("project/below"), &seen) == 0 && seen.project == 1048577 && seen.inherits);
    EXPECT(AssignProject(At("project"), 0, false, &outcome) == 0);
    EXPECT(LookAtProject(At("project"), &seen) == 0 && seen.project == 0 && !seen.inherits);
  }
  // Taking no project away is nothing to do, where it can be asked for at all.
  ProjectQuota quota;
  EXPECT(GetProjectQuota(At("project/none"), 1, &quota) == -ENOENT);
  EXPECT(GetProjectQuota("/proc", 1, &quota) < 0);
  EXPECT(LimitProject("/proc", 1, 0) < 0);
}

static void TestProjectQuotas() {
  mkdir(At("quota").c_str(), 0700);
  constexpr int kGet = static_cast<int>(QCMD(Q_GETQUOTA, 2));
  constexpr int kSet = static_cast<int>(QCMD(Q_SETQUOTA, 2));
  ProjectQuota quota;
  std::vector<AnsweredQuotactl> asked;
  auto answer = [&asked](int by_fd, int by_name, if_dqblk given) {
    asked.clear();
    quotactl_answer = [&asked, by_fd, by_name, given](const AnsweredQuotactl& one, if_dqblk* block) {
      asked.push_back(one);
      int status = one.device.empty() ? by_fd : by_name;
      if (status == 0) *block = given;
      return status;
    };
  };
  if_dqblk used = {};
  used.dqb_curspace = 4096;
  used.dqb_curinodes = 3;
  answer(0, -EIO, used);
  EXPECT(GetProjectQuota(At("quota"), 1048577, &quota) == 0 && quota.bytes == 4096 && quota.inodes == 3 && !quota.limited);
  EXPECT(asked.size() == 1 && asked[0].command == kGet && asked[0].project == 1048577 && asked[0].device.empty());
  for (auto limit : {&if_dqblk::dqb_bhardlimit, &if_dqblk::dqb_bsoftlimit, &if_dqblk::dqb_ihardlimit, &if_dqblk::dqb_isoftlimit}) {
    if_dqblk limited = {};
    limited.*limit = 1;
    answer(0, -EIO, limited);
    EXPECT(GetProjectQuota(At("quota"), 7, &quota) == 0 && quota.limited && quota.bytes == 0);
  }
  // XFS, of an unused project.
  answer(-ENOENT, -EIO, used);
  EXPECT(GetProjectQuota(At("quota"), 7, &quota) == 0 && quota.bytes == 0 && quota.inodes == 0 && !quota.limited);
  for (int error : {EPERM, ESRCH, EINVAL}) {
    answer(-error, 0, used);
    EXPECT(GetProjectQuota(At("quota"), 7, &quota) == -error && asked.size() == 1);
  }
  ProjectOfDirectory seen;
  answer(-ESRCH, 0, used);
  EXPECT(LookAtProject(At("quota"), &seen) == 0 && (seen.quota_errno == ESRCH || asked.empty()));
  answer(0, 0, {});
  EXPECT(LimitProject(At("quota"), 1048577, 12) == 0);
  EXPECT(asked.size() == 1 && asked[0].command == kSet && asked[0].project == 1048577);
  EXPECT(asked[0].block.dqb_valid == QIF_BLIMITS && asked[0].block.dqb_bhardlimit == 12 && asked[0].block.dqb_bsoftlimit == 12);
  // A kernel before 5.14: by the name of the device, where the directory is on one.
  answer(-ENOSYS, 0, used);
  int status = GetProjectQuota(At("quota"), 7, &quota);
  if (asked.size() == 2) {
    EXPECT(status == 0 && quota.bytes == 4096);
    EXPECT(asked[1].command == kGet && asked[1].project == 7 && asked[1].device.compare(0, 5, "/dev/") == 0);
    struct stat device;
    EXPECT(stat(asked[1].device.c_str(), &device) < 0 || S_ISBLK(device.st_mode));
  } else {
    EXPECT(status == -ENOSYS && asked.size() == 1);
  }
  quotactl_answer = nullptr;
}

static void TestTreeOwnership() {
  if (geteuid() != 0) return;
  mkdir(At("own").c_str(), 0755);
  chmod(At("own").c_str(), 0755);
  mkdir(At("own/d").c_str(), 0700);
  WriteText(At("own/d/f"), "x");
  WriteText(At("outside"), "x");
  EXPECT(symlink(At("outside").c_str(), At("own/link").c_str()) == 0);
  Ownership ownership{4711, 0660, 02770, true};
  OwnershipOutcome outcome;
  EXPECT(SetTreeOwnership(At("own"), ownership, &outcome) == 0);
  EXPECT(outcome.walked && outcome.gid == 0 && outcome.entries == 4 && outcome.failures == 0);
  struct stat status;
  EXPECT(stat(At("own").c_str(), &status) == 0 && (status.st_mode & 07777) == 02775 && status.st_gid == 4711);
  EXPECT(stat(At("own/d").c_str(), &status) == 0 && (status.st_mode & 07777) == 02770 && status.st_gid == 4711);
  EXPECT(stat(At("own/d/f").c_str(), &status) == 0 && (status.st_mode & 07777) == 0660 && status.st_gid == 4711);
  EXPECT(lstat(At("own/link").c_str(), &status) == 0 && status.st_gid == 4711);
  // Through the link nothing was changed.
  EXPECT(stat(At("outside").c_str(), &status) == 0 && (status.st_mode & 07777) == 0600 && status.st_gid == 0);
  EXPECT(SetTreeOwnership(At("own"), ownership, &outcome) == 0 && !outcome.walked && outcome.gid == 4711);
  ownership.on_root_mismatch = false;
  std::atomic<uint64_t> progress{0};
  EXPECT(SetTreeOwnership(At("own"), ownership, &outcome, &progress) == 0 && outcome.walked);
  // All but the root, whose end is the end.
  EXPECT(progress == outcome.entries - 1);
  EXPECT(SetTreeOwnership(At("own/link"), ownership, &outcome) == -ELOOP);
  EXPECT(SetTreeOwnership(At("none"), ownership, &outcome) == -ENOENT);
}

// A directory is repeatedly exchanged for a link to another place: that place must stay unchanged.
static void TestTreeOwnershipRace() {
  if (geteuid() != 0) return;
  mkdir(At("prey").c_str(), 0700);
  WriteText(At("prey/f"), "x");
  mkdir(At("race").c_str(), 0700);
  mkdir(At("race/a").c_str(), 0700);
  WriteText(At("race/a/f"), "x");
  EXPECT(symlink(At("prey").c_str(), At("race/b").c_str()) == 0);
  std::atomic<bool> stop{false};
  std::thread exchanger([&] {
    while (!stop) renameat2(AT_FDCWD, At("race/a").c_str(), AT_FDCWD, At("race/b").c_str(), RENAME_EXCHANGE);
  });
  Ownership ownership{4712, 0660, 02770, false};
  OwnershipOutcome outcome;
  for (int turn = 0; turn < 500; turn++) EXPECT(SetTreeOwnership(At("race"), ownership, &outcome) == 0);
  stop = true;
  exchanger.join();
  struct stat status;
  EXPECT(stat(At("prey").c_str(), &status) == 0 && status.st_gid == 0 && (status.st_mode & 07777) == 0700);
  EXPECT(stat(At("prey/f").c_str(), &status) == 0 && status.st_gid == 0);
}

// A tree that others exchange for links while it is removed: nothing outside of it goes.
static void TestFileStepsRemovalRace() {
  std::string outside = At("steps-outside"), tree = At("steps-tree");
  mkdir(outside.c_str(), 0755);
  WriteText(outside + "/precious", "x");
  for (int round = 0; round < 50; round++) {
    mkdir(tree.c_str(), 0755);
    mkdir((tree + "/a").c_str(), 0755);
    WriteText(tree + "/a/precious", "y");
    std::thread exchanger([&] {
      for (int i = 0; i < 20; i++) {
        rename((tree + "/a").c_str(), (tree + "/b").c_str());
        (void)!symlink(outside.c_str(), (tree + "/a").c_str());
        unlink((tree + "/a").c_str());
        rename((tree + "/b").c_str(), (tree + "/a").c_str());
      }
    });
    std::vector<UniqueFd> slots(1);
    slots[0] = UniqueFd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    DoFileSteps(std::move(slots), {{FileStepKind::kRemoveTree, 0, -1, 0, 64 | (1 << 16), "steps-tree", ""}});
    exchanger.join();
    std::string remove = "rm -rf " + tree;
    EXPECT(std::system(remove.c_str()) == 0);
  }
  EXPECT(access((outside + "/precious").c_str(), F_OK) == 0);
}

static void TestFileSteps() {
  std::vector<UniqueFd> slots(3);
  slots[0] = UniqueFd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  auto outcomes = DoFileSteps(std::move(slots), {
                                                    {FileStepKind::kMakeDirectory, 0, -1, 0, 0700, "steps", ""},
                                                    {FileStepKind::kEnter, 0, 1, 0, 0, "steps", ""},
                                                    {FileStepKind::kCreate, 1, -1, 0, 0600, "file", "text"},
                                                    {FileStepKind::kReplace, 1, -1, 0, 0600, "file", "text"},
                                                    {FileStepKind::kReplace, 1, -1, 0, 0600, "file", "other"},
                                                    {FileStepKind::kRead, 1, -1, 0, 100, "file", ""},
                                                    {FileStepKind::kRead, 1, -1, kTolerateAny, 4, "file", ""},
                                                    {FileStepKind::kList, 1, -1, 0, 0, "", ""},
                                                    {FileStepKind::kEnter, 1, 2, kTolerateAbsent, 0, "absent", ""},
                                                    {FileStepKind::kUnlink, 2, -1, 0, 0, "file", ""},
                                                    {FileStepKind::kRemoveTree, 0, -1, kTolerateAny, 1, "steps", ""},
                                                    {FileStepKind::kNoMountBelow, -1, -1, kTolerateAny, 0, "/proc", ""},
                                                    {FileStepKind::kRemoveTree, 0, -1, 0, 64 | (1 << 16), "steps", ""},
                                                    {FileStepKind::kLook, 0, -1, kToleratePresent, 0, "steps", ""},
                                                    {FileStepKind::kMakeDirectory, 0, -1, 0, 0700, "never", ""},
                                                });
  const int kWanted[] = {0, 0, 0, 0, 1, 5, -EFBIG, 0, -ENOENT, kStepNotDone, -ENOTDIR, -EBUSY, 0, -ENOENT, kStepNotDone};
  EXPECT(outcomes.size() == std::size(kWanted));
  for (size_t i = 0; i < outcomes.size(); i++) EXPECT(outcomes[i].status == kWanted[i]);
  EXPECT(outcomes[5].text == "other" && outcomes[7].text == "-file" && outcomes[10].text == "steps/file" && outcomes[11].text == "/proc");
  EXPECT(access(At("steps").c_str(), F_OK) < 0 && access(At("never").c_str(), F_OK) < 0);
}

int main() {
  char pattern[] = "/tmp/kubelet-core-XXXXXX";
  directory = mkdtemp(pattern);
  struct Test {
    const char* name;
    void (*run)();
  };
  const Test kTests[] = {
      {"inotify: events", TestInotifyEvents},
      {"inotify: overflow", TestInotifyOverflow},
      {"inotify: parser on noise", TestInotifyParserOnNoise},
      {"kmsg: overrun", TestKmsgOverrun},
      {"kmsg: pipe", TestKmsgPipe},
      {"file batch: items", TestFileBatchItems},
      {"file batch: replaced files", TestFileBatchSeesReplacement},
      {"file batch: descriptor bound", TestFileBatchBound},
      {"file batch: a process that ends", TestFileBatchProcess},
      {"file batch: a sequence file whole", TestFileBatchWholeSequenceFile},
      {"number forms", TestNumberForms},
      {"file batch: numbers", TestFileBatchNumbers},
      {"file batch: threads", TestFileBatchThreads},
      {"beneath", TestBeneath},
      {"sd_notify", TestSdNotify},
      {"statfs, flock, limits", TestMisc},
      {"mounts", TestMounts},
      {"triggers", TestTriggers},
      {"tree: usage", TestTreeUsage},
      {"projects", TestProjects},
      {"projects: quotas", TestProjectQuotas},
      {"tree: ownership", TestTreeOwnership},
      {"tree: ownership against exchanges", TestTreeOwnershipRace},
      {"file steps", TestFileSteps},
      {"file steps: removal against exchanges", TestFileStepsRemovalRace},
  };
  for (const Test& test : kTests) {
    int descriptors = OpenDescriptors();
    int before = failures;
    test.run();
    EXPECT(OpenDescriptors() == descriptors);
    std::printf("%s %s\n", failures == before ? "ok" : "not ok", test.name);
  }
  std::string remove = "rm -rf --one-file-system " + directory;
  EXPECT(std::system(remove.c_str()) == 0);
  std::printf("# %d failures\n", failures);
  return std::min(failures, 100);
}
