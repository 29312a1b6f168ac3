// The sources of a job in the order of what they promise, so that a batch costs O(log n) and not a
// walk over all sources. Holds no state of its own: everything follows from the sources.
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

// Not thread-safe. Whoever changes what a source promises, whether it is live, or its rows that
// wait, calls Update before the next question. Pointers are only compared for equality: their
// order changes no answer.
class WatermarkIndex {
 public:
  void Update(Source* source);
  // Its step promises, or whether it takes part in step watermarks, changed.
  void UpdateSteps(Source* source);
  void Remove(Source* source);
  void Clear();

  // Of the live sources; kMinPosition without any.
  int64_t LeastPromise() const;
  // The greatest of what live sources said, whatever frames of theirs hold back; kMinPosition
  // without any.
  int64_t NewestPromise() const;
  // Of the ranks that announced the mode, take part, and are on that clock of it: the smallest step
  // promise, kMaxPosition without a rank; the largest one, kNoStep without a rank; and those with
  // the smallest one: any of them (null without a rank), and all, by (id, boot).
  int64_t LeastStepPromise(std::string_view mode, uint32_t clock = kSharedClock) const;
  int64_t GreatestStepPromise(std::string_view mode, uint32_t clock = kSharedClock) const;
  const Source* AnySlowest(std::string_view mode, uint32_t clock = kSharedClock) const;
  std::vector<Source*> Slowest(std::string_view mode, uint32_t clock = kSharedClock) const;
  // Sources with rows at or before `to`, in no order that counts.
  std::vector<Source*> WithRowsUpTo(int64_t to) const;

 private:
  using Keys = absl::btree_set<std::pair<int64_t, Source*>>;
  using ModeClock = std::pair<std::string, uint32_t>;
  struct StepPlace {
    ModeClock clock;
    int64_t promise = kNoStep;
  };
  // Where a source is now; kMaxPosition: nowhere.
  struct Places {
    int64_t promise = kMaxPosition;
    int64_t said = kMaxPosition;
    int64_t rows = kMaxPosition;
    std::vector<StepPlace> steps;
  };
  static void Move(Keys* keys, Source* source, int64_t* place, int64_t to);
  bool MoveSteps(Source* source, Places* places);
  void RemoveSteps(Source* source, Places* places);
  const Keys* StepKeys(std::string_view mode, uint32_t clock) const;

  absl::btree_map<Source*, Places> places_;
  Keys promises_;  // effective promises of live sources
  Keys said_;      // promises of those whose frames hold them back
  Keys rows_;      // time of the first row that waits
  absl::flat_hash_map<ModeClock, Keys> step_promises_;
};

}  // namespace pitwall::engine
