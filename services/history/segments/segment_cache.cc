#include "services/history/segments/segment_cache.h"

#include <utility>

namespace pitwall::history {

std::shared_ptr<const void> SegmentCache::FindAny(const Key& key) {
  MutexLock lock(&mutex_);
  const auto at = index_.find(key);
  if (at == index_.end()) return nullptr;
  Entries& list = ListOf(key);
  list.splice(list.begin(), list, at->second);
  at->second->used = ++uses_;
  return at->second->value;
}

void SegmentCache::Put(const Key& key, std::shared_ptr<const void> entry, size_t bytes) {
  // Larger entries would evict too many other entries. The limit is higher for an open segment,
  // because otherwise each query would reread the footer.
  if (bytes > most_bytes_ / (key.table == kNoTable ? 2 : 4)) return;
  MutexLock lock(&mutex_);
  const auto [at, added] = index_.try_emplace(key);
  if (!added) return;  // two queries read the same data concurrently
  Entries& list = ListOf(key);
  list.push_front({key, std::move(entry), bytes, ++uses_});
  at->second = list.begin();
  bytes_ += bytes;
  if (lists_[1].size() > most_open_) DropOldest(&lists_[1]);
  while (bytes_ > most_bytes_) {
    const bool open =
        lists_[0].empty() || (!lists_[1].empty() && lists_[1].back().used < lists_[0].back().used);
    DropOldest(&lists_[open ? 1 : 0]);
  }
}

void SegmentCache::DropOldest(Entries* list) {
  bytes_ -= list->back().bytes;
  index_.erase(list->back().key);
  list->pop_back();
}

void SegmentCache::Erase(const Key& key) {
  MutexLock lock(&mutex_);
  const auto at = index_.find(key);
  if (at == index_.end()) return;
  bytes_ -= at->second->bytes;
  ListOf(key).erase(at->second);
  index_.erase(at);
}

void SegmentCache::Clear() {
  MutexLock lock(&mutex_);
  index_.clear();
  for (Entries& list : lists_) list.clear();
  bytes_ = 0;
}

size_t SegmentCache::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace pitwall::history
