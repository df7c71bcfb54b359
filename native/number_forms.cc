#include "number_forms.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd_watch.h"

namespace kubelet {

namespace {

bool IsDigit(char character) { return character >= '0' && character <= '9'; }
bool IsSpace(char character) { return character == ' ' || character == '\n' || character == '\t'; }

// Digits, with a sign before them and a fraction after them, up to the end of the word; NaN for anything else.
// Whole numbers and their fraction are put together as integers and divided once, so that the nearest double comes out.
double NumberOfWord(const char* word, const char* end) {
  bool negative = word < end && *word == '-';
  const char* at = negative ? word + 1 : word;
  if (at == end || !IsDigit(*at)) return NAN;
  uint64_t digits = 0;
  double scale = 1;
  for (; at < end && IsDigit(*at); at++) digits = digits * 10 + static_cast<uint64_t>(*at - '0');
  if (at < end && *at == '.') {
    for (at++; at < end && IsDigit(*at); at++) {
      digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      scale *= 10;
    }
  }
  if (at != end) return NAN;
  // More than 64 bits hold.
  if (end - word > 19) return std::strtod(std::string(word, end).c_str(), nullptr);
  double number = static_cast<double>(digits) / scale;
  return negative && number != 0 ? -number : number;
}

const char* EndOfWord(const char* at, const char* end) {
  while (at < end && !IsSpace(*at)) at++;
  return at;
}

void Words(const char* at, const char* end, bool truncated, std::vector<double>* numbers) {
  while (true) {
    while (at < end && IsSpace(*at)) at++;
    if (at == end) return;
    const char* word_end = EndOfWord(at, end);
    if (word_end == end && truncated) return;
    numbers->push_back(NumberOfWord(at, word_end));
    at = word_end;
  }
}

void Keyed(const std::vector<std::string>& keys, const char* at, const char* end, bool truncated, std::vector<double>* numbers) {
  size_t first = numbers->size();
  numbers->resize(first + keys.size(), NAN);
  size_t missing = keys.size();
  while (at < end && missing > 0) {
    const char* line_end = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (line_end == nullptr) {
      if (truncated) return;
      line_end = end;
    }
    size_t size = static_cast<size_t>(line_end - at);
    for (size_t index = 0; index < keys.size(); index++) {
      const std::string& key = keys[index];
      if (size <= key.size() || at[key.size()] != ' ' || std::memcmp(at, key.data(), key.size()) != 0) continue;
      const char* value = at + key.size();
      while (value < line_end && IsSpace(*value)) value++;
      double& number = (*numbers)[first + index];
      // The first line of a key counts.
      if (std::isnan(number)) {
        number = NumberOfWord(value, EndOfWord(value, line_end));
        missing--;
      }
      break;
    }
    at = line_end == end ? end : line_end + 1;
  }
}

void Assigned(const char* at, const char* end, bool truncated, std::vector<double>* numbers) {
  while (at < end) {
    const char* sign = static_cast<const char*>(std::memchr(at, '=', static_cast<size_t>(end - at)));
    if (sign == nullptr) return;
    const char* word_end = EndOfWord(sign + 1, end);
    if (word_end == end && truncated) return;
    numbers->push_back(NumberOfWord(sign + 1, word_end));
    at = word_end;
  }
}

int Sockets(const char* path, std::vector<double>* numbers) {
  DIR* directory = opendir(path);
  if (directory == nullptr) return -errno;
  size_t entries = 0;
  size_t sockets = 0;
  char target[16];
  constexpr char kSocket[] = "socket:";
  for (struct dirent* entry = readdir(directory); entry != nullptr; entry = readdir(directory)) {
    if (entry->d_name[0] == '.') continue;
    entries++;
    if (entries > kSocketsLookedAtMax) continue;
    ssize_t size = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
    if (size >= static_cast<ssize_t>(sizeof kSocket - 1) && std::memcmp(target, kSocket, sizeof kSocket - 1) == 0) sockets++;
  }
  closedir(directory);
  numbers->push_back(static_cast<double>(entries));
  numbers->push_back(static_cast<double>(sockets));
  return 0;
}

}  // namespace

void NumbersOfText(NumberForm form, const std::vector<std::string>& keys, const char* text, size_t size, bool truncated, std::vector<double>* numbers) {
  switch (form) {
    case NumberForm::kWords:
      return Words(text, text + size, truncated, numbers);
    case NumberForm::kKeyed:
      return Keyed(keys, text, text + size, truncated, numbers);
    case NumberForm::kAssigned:
      return Assigned(text, text + size, truncated, numbers);
    case NumberForm::kLinks:
    case NumberForm::kSockets:
      return;
  }
}

int NumbersOfPath(NumberForm form, const char* path, std::vector<double>* numbers) {
  if (form == NumberForm::kSockets) return Sockets(path, numbers);
  struct stat entry;
  if (stat(path, &entry) < 0) return -errno;
  if (!S_ISDIR(entry.st_mode)) return -ENOTDIR;
  numbers->push_back(static_cast<double>(entry.st_nlink));
  return 0;
}

}  // namespace kubelet
