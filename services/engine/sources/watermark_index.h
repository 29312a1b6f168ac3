// Index of a job's sources by promise. Processing a batch takes O(log n) time instead of a scan of
// all sources. Derived entirely from the sources.
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
#include "services/base/time.h"
#include "services/engine/sources/source.h"
#include "services/model/position.h"

namespace pitwall::engine {

// Not thread-safe. After a source's promise, liveness, or waiting rows change, Update must be
// called before the next query. Pointers are only compared for equality, so their order does not
// affect results.
class WatermarkIndex {
 public:
  // Greater than any step that a rank may promise.
  static constexpr Step kNoPromise = Step(kMaxPosition);

  void Update(Source* source);
  // Must be called after a change to the source's step promises or its participation in step
  // watermarks.
  void UpdateSteps(Source* source);
  void Remove(Source* source);
  void Clear();

  // Returns the minimum promise of the live sources, or EventTime::Earliest() if there are none.
  EventTime LeastPromise() const;
  // Returns the maximum promise of the live sources, even if frames hold them back, or
  // EventTime::Earliest() if there are none.
  EventTime NewestPromise() const;
  // These functions consider the ranks that announced the mode, participate, and are on the given
  // clock of the mode. Without such a rank, LeastStepPromise returns kNoPromise and
  // GreatestStepPromise returns Step::None(). AnySlowest returns a rank with the smallest promise,
  // or null. Slowest returns all ranks with the smallest promise, ordered by (ID, boot).
  Step LeastStepPromise(std::string_view mode, uint32_t clock = kSharedClock) const;
  Step GreatestStepPromise(std::string_view mode, uint32_t clock = kSharedClock) const;
  const Source* AnySlowest(std::string_view mode, uint32_t clock = kSharedClock) const;
  std::vector<Source*> Slowest(std::string_view mode, uint32_t clock = kSharedClock) const;
  // Returns the sources with rows at or before `to`, in an unspecified order.
  std::vector<Source*> WithRowsUpTo(EventTime to) const;

 private:
  template <typename T>
  using Keys = absl::btree_set<std::pair<T, Source*>>;
  using ModeClock = std::pair<std::string, uint32_t>;
  struct StepPlace {
    ModeClock clock;
    Step promise = Step::None();
  };
  // Current times of a source in the indexes; kNowhere means that the source is not in that index.
  static constexpr EventTime kNowhere = EventTime::Latest();
  struct Places {
    EventTime promise = kNowhere;
    EventTime blocked = kNowhere;
    EventTime rows = kNowhere;
    std::vector<StepPlace> steps;
  };
  static void Move(Keys<EventTime>* keys, Source* source, EventTime* place, EventTime to);
  bool MoveSteps(Source* source, Places* places);
  void RemoveSteps(Source* source, Places* places);
  const Keys<Step>* StepKeys(std::string_view mode, uint32_t clock) const;

  absl::btree_map<Source*, Places> places_;
  Keys<EventTime> promises_;  // Effective promises of live sources.
  Keys<EventTime> blocked_;   // Promises of sources whose frames hold them back.
  Keys<EventTime> rows_;      // Times of the first waiting rows.
  absl::flat_hash_map<ModeClock, Keys<Step>> step_promises_;
};

}  // namespace pitwall::engine
