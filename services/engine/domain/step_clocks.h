// Step clocks of a job: for each mode, the shared clock and separate clocks for ranks that have
// fallen behind (time-model.md, section 3). Iteration covers all clocks: shared clocks in program
// order, then separate clocks in creation order. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/engine/domain/clock_domain.h"

namespace pitwall::engine {

class StepClocks {
 public:
  using Domains = std::vector<std::unique_ptr<ClockDomain>>;

  Domains::const_iterator begin() const { return domains_.begin(); }
  Domains::const_iterator end() const { return domains_.end(); }
  bool empty() const { return domains_.empty(); }
  size_t shared() const { return shared_; }

  // Adds the shared clock of a mode. All shared clocks must be added before any separate clock.
  void AddShared(std::unique_ptr<ClockDomain> runner);
  // Adds a separate clock. The statuses of the mode's shared clock also cover the separate clock's
  // issues.
  ClockDomain* AddSeparate(std::unique_ptr<ClockDomain> runner);
  void RemoveSeparate(std::string_view mode, uint32_t clock);
  // Removes all separate clocks of the mode; "" means all modes.
  void RemoveAllSeparate(std::string_view mode = {});
  void Clear();
  // Removes and returns all clocks, shared clocks first.
  Domains Release();

  // Returns null if no rule reads steps of that mode, or if the clock does not exist.
  ClockDomain* Find(std::string_view mode, uint32_t clock) const;
  ClockDomain* Shared(std::string_view mode) const { return Find(mode, kSharedClock); }
  // Returns the mode's separate clock with the highest watermark below `position`, or null.
  ClockDomain* SeparateBelow(std::string_view mode, Position position) const;
  size_t CountSeparate(std::string_view mode) const;
  uint32_t NextId() { return ++last_id_; }

  // Saves the IDs of the separate clocks. The state of each clock is saved by its domain.
  void Save(BinaryWriter& out) const;
  // Restores the separate clocks. `make(domain, clock)` creates the ClockDomain of a saved separate
  // clock without adding it.
  Status Restore(BinaryReader& in,
                 const std::function<std::unique_ptr<ClockDomain>(size_t, uint32_t)>& make);

 private:
  void LinkSeparate();

  Domains domains_;
  size_t shared_ = 0;  // Number of shared clocks. They come first in domains_.
  uint32_t last_id_ = kSharedClock;
};

}  // namespace pitwall::engine
