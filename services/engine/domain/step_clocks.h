// Step clocks of a job: for each mode the shared one, and separate ones of ranks that fell behind
// it (time-model.md, section 3). Iterates over all of them: shared ones in the order of the
// program, then separate ones in the order in which they began. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/engine/domain/clock_domain.h"

namespace pitwall::engine {

class StepClocks {
 public:
  using Runners = std::vector<std::unique_ptr<ClockDomain>>;

  Runners::const_iterator begin() const { return runners_.begin(); }
  Runners::const_iterator end() const { return runners_.end(); }
  bool empty() const { return runners_.empty(); }
  size_t shared() const { return shared_; }

  // Adds the shared clock of a mode; all of these come before any separate one.
  void AddShared(std::unique_ptr<ClockDomain> runner);
  // Adds a separate clock. The shared one of its mode reports the issues of both in its statuses.
  ClockDomain* AddSeparate(std::unique_ptr<ClockDomain> runner);
  void RemoveSeparate(std::string_view mode, uint32_t clock);
  // Of that mode; "": of all modes.
  void RemoveAllSeparate(std::string_view mode = {});
  void Clear();
  // Takes all clocks out, shared ones first.
  Runners Release();

  // Null without rules on steps of that mode, or without that clock.
  ClockDomain* Find(std::string_view mode, uint32_t clock) const;
  ClockDomain* Shared(std::string_view mode) const { return Find(mode, kSharedClock); }
  // The separate clock of the mode with the maximum watermark below `position`; null without one.
  ClockDomain* SeparateBelow(std::string_view mode, int64_t position) const;
  size_t CountSeparate(std::string_view mode) const;
  uint32_t NextId() { return ++last_id_; }

  // The identities of the separate clocks; their state is saved with Save of each runner.
  void Save(BinaryWriter& out) const;
  // `make(domain, clock)` makes the runner of a saved separate clock and adds nothing.
  Status Restore(BinaryReader& in,
                 const std::function<std::unique_ptr<ClockDomain>(size_t, uint32_t)>& make);

 private:
  void LinkSeparate();

  Runners runners_;
  size_t shared_ = 0;  // the first of runners_
  uint32_t last_id_ = kSharedClock;
};

}  // namespace pitwall::engine
