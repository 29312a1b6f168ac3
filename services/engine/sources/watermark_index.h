// Index of a job's sources in the order of their promises. With it, a batch costs O(log n) instead
// of a scan of all sources. Derived entirely from the sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Not thread-safe. After a change of a source's promise, liveness, or waiting rows, Update must be
// called before the next query. Pointers are only compared for equality, so their order does not
// affect results.
class WatermarkIndex {
 public:
  void Update(Source* source);
  // Must be called after a change of the source's step promises or of its participation in step
  // watermarks.
  void UpdateSteps(Source* source);
  void Remove(Source* source);
  void Clear();

  // Returns the minimum promise of the live sources, or kMinPosition without live sources.
  int64_t LeastPromise() const;
  // Returns the maximum promise of the live sources, even if frames hold them back, or kMinPosition
  // without live sources.
  int64_t NewestPromise() const;
  // These functions consider the ranks that announced the mode, participate, and are on the given
  // clock of the mode. Without such a rank, LeastStepPromise returns kMaxPosition and
  // GreatestStepPromise returns kNoStep. AnySlowest returns a rank with the smallest promise, or
  // null. Slowest returns all ranks with the smallest promise, ordered by (ID, boot).
  int64_t LeastStepPromise(std::string_view mode, uint32_t clock = kSharedClock) const;
  int64_t GreatestStepPromise(std::string_view mode, uint32_t clock = kSharedClock) const;
  const Source* AnySlowest(std::string_view mode, uint32_t clock = kSharedClock) const;
  std::vector<Source*> Slowest(std::string_view mode, uint32_t clock = kSharedClock) const;
  // Returns the sources with rows at or before `to`, in an unspecified order.
  std::vector<Source*> WithRowsUpTo(int64_t to) const;

 private:
  using Keys = absl::btree_set<std::pair<int64_t, Source*>>;
  using ModeClock = std::pair<std::string, uint32_t>;
  struct StepPlace {
    ModeClock clock;
    int64_t promise = kNoStep;
  };
  // Current positions of a source in the indexes; kMaxPosition means that the source is not in that
  // index.
  struct Places {
    int64_t promise = kMaxPosition;
    int64_t blocked = kMaxPosition;
    int64_t rows = kMaxPosition;
    std::vector<StepPlace> steps;
  };
  static void Move(Keys* keys, Source* source, int64_t* place, int64_t to);
  bool MoveSteps(Source* source, Places* places);
  void RemoveSteps(Source* source, Places* places);
  const Keys* StepKeys(std::string_view mode, uint32_t clock) const;

  absl::btree_map<Source*, Places> places_;
  Keys promises_;  // Effective promises of live sources.
  Keys blocked_;   // Promises of sources whose frames hold them back.
  Keys rows_;      // Times of the first waiting rows.
  absl::flat_hash_map<ModeClock, Keys> step_promises_;
};

}  // namespace pitwall::engine
