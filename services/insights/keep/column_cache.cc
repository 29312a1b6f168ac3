#include "services/insights/keep/column_cache.h"

namespace pitwall::insights {

DecodedColumnPtr ColumnCache::Find(const Key& key) {
  MutexLock lock(&mutex_);
  const auto at = index_.find(key);
  if (at == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, at->second);
  return at->second->second;
}

void ColumnCache::Put(const Key& key, DecodedColumnPtr column) {
  const size_t bytes = column->bytes();
  if (bytes > most_bytes_ / 8) return;  // it would push out too much
  MutexLock lock(&mutex_);
  const auto [at, added] = index_.try_emplace(key);
  if (!added) return;  // two questions have read it at once
  entries_.emplace_front(key, std::move(column));
  at->second = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back().second->bytes();
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
}

void ColumnCache::Clear() {
  MutexLock lock(&mutex_);
  index_.clear();
  entries_.clear();
  bytes_ = 0;
}

size_t ColumnCache::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace pitwall::insights
