// Index of each rank's boots in a job, so that a start is compared only with boots that it may
// replace. Derived entirely from the sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Not thread-safe. The rank, the kind, and the ID of a source never change.
class RankBoots {
 public:
  void Add(Source* source) {
    if (source->IsRank()) boots_[source->info.rank].push_back(source);
  }
  void Remove(const Source* source) {
    const auto found = boots_.find(source->info.rank);
    if (!source->IsRank() || found == boots_.end()) return;
    std::erase(found->second, source);
    if (found->second.empty()) boots_.erase(found);
  }
  void Clear() { boots_.clear(); }

  // Returns the entries of `sources` (a map by ID and boot) with the same ID as `source` or, for a
  // rank, with the same rank number. Excludes `source` itself and keeps the map order.
  template <typename Sources>
  std::vector<Source*> OthersOf(const Source& source, const Sources& sources) const {
    std::vector<Source*> others;
    for (auto it = sources.lower_bound(typename Sources::key_type(source.id, ""));
         it != sources.end() && it->second->id == source.id; ++it) {
      if (it->second.get() != &source) others.push_back(it->second.get());
    }
    if (!source.IsRank()) return others;
    if (const auto found = boots_.find(source.info.rank); found != boots_.end()) {
      for (Source* other : found->second) {
        if (other->id != source.id) others.push_back(other);
      }
    }
    std::sort(others.begin(), others.end(), [](const Source* a, const Source* b) {
      return std::pair<std::string_view, std::string_view>(a->id, a->boot) <
             std::pair<std::string_view, std::string_view>(b->id, b->boot);
    });
    return others;
  }

 private:
  absl::flat_hash_map<int64_t, std::vector<Source*>> boots_;  // Never iterated.
};

}  // namespace pitwall::engine
