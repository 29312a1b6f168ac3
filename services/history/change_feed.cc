#include "services/history/change_feed.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::history {

namespace {

// Estimates the memory usage of a change. A decoded record counts as twice its JSON size.
size_t BytesOf(const Change& change) {
  return sizeof(Change) + change.job.size() + 2 * change.record_bytes;
}

}  // namespace

void ChangeFeed::Add(Change change) {
  MutexLock lock(&mutex_);
  change.place = ++newest_;
  bytes_ += BytesOf(change);
  changes_.push_back(std::move(change));
  while (changes_.size() > kept_ || (bytes_ > kKeptBytes && changes_.size() > 1)) DropOldest();
}

void ChangeFeed::DropOldest() {
  bytes_ -= BytesOf(changes_.front());
  changes_.pop_front();
}

void ChangeFeed::Break() {
  MutexLock lock(&mutex_);
  changes_.clear();
  bytes_ = 0;
  ++newest_;
}

StatusOr<std::vector<Change>> ChangeFeed::After(uint64_t place, size_t max) const {
  MutexLock lock(&mutex_);
  if (place > newest_ || place + changes_.size() < newest_) {
    return OutOfRange(Cat("changes after ", place, " are no longer available (the newest is ",
                          newest_, "); restart from the newest"));
  }
  const size_t skip = changes_.size() - static_cast<size_t>(newest_ - place);
  const size_t end =
      std::min(changes_.size(), max > changes_.size() ? changes_.size() : skip + max);
  return std::vector<Change>(changes_.begin() + static_cast<int64_t>(skip),
                             changes_.begin() + static_cast<int64_t>(end));
}

uint64_t ChangeFeed::newest() const {
  MutexLock lock(&mutex_);
  return newest_;
}

}  // namespace pitwall::history
