// Table of a store's demands. It contains the window, age, and last result of each demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/windows/demand.h"
#include "services/window/kernels/family.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"
#include "services/window/store/store_progress.h"
#include "services/window/store/window_set.h"

namespace pitwall::window {

// Records when a demand was added.
struct DemandAge {
  uint32_t epoch = 0;  // 0 for the first set, otherwise the number of the Replace that added it
  // Sealed position at that time; Position::Earliest() for the first set.
  Position since = Position::Earliest();
};

// Horizon of a selector whose samples never expire.
inline constexpr Duration kMaxHorizon = Position::Latest() - Position();

// Returns whether the demand has a window for each series, as opposed to a window over panes.
bool IsKeptBySeries(const Demand& demand, const FunctionPlan& plan);

// Not thread-safe. Demands are identified by their index in the set.
class DemandTable {
 public:
  // Uses the limits max_window_bytes and long_panes.
  explicit DemandTable(const Limits& limits) : limits_(limits) {}

  const DemandSet& set() const { return *set_; }
  std::shared_ptr<const DemandSet> shared_set() const { return set_; }
  // Creates or finds a window for each demand in `set`. `ages` contains the ages of demands that
  // were already in the set; new demands get the current epoch and `sealed`. `origin` is the origin
  // from SeriesStore::SetOrigin.
  void Assign(std::shared_ptr<const DemandSet> set,
              const std::vector<std::optional<DemandAge>>& ages, Position sealed, Position origin,
              WindowSet& windows);
  // Replaces the set in a new epoch and keeps the windows that the old and the new set share.
  // `moved_to` contains the new number of each selector that is kept, and UINT32_MAX for the
  // others.
  void Replace(std::shared_ptr<const DemandSet> next, const std::vector<uint32_t>& moved_to,
               Position sealed, Position origin, WindowSet& windows);

  // Returns the demand's result. Valid until the next read of the demand.
  Column Read(uint32_t demand, std::span<const double> arguments, const ReadTime& time,
              const SelectorColumns& columns, const SeriesTable& series);
  // The following functions implement the corresponding DemandResults functions.
  Status StatusOf(uint32_t demand) const;
  Position FullFrom(uint32_t demand) const;
  std::optional<PrefixProgress> Filling(uint32_t demand, Position tick) const;

  // Returns the selector's horizon: no read uses samples at or before now - horizon.
  Duration HorizonOf(uint32_t selector) const;
  // Treats all demands as part of the first set, as if they had been added before the first seal.
  void Reset();

  void SaveAges(BinaryWriter& out) const;
  // Loads the ages of `demands` demands. Call Assign next.
  std::vector<std::optional<DemandAge>> LoadAges(BinaryReader& in, size_t demands);
  size_t MemoryBytes() const;

 private:
  struct State {
    Status status = OkStatus();  // result of Validate
    DemandAge age;
    std::optional<FunctionPlan> plan;
    WindowRef at;
    bool incomplete = false;  // whether samples of the window were missing at the last read
    // Result of the last read.
    std::vector<double> values;
    std::vector<uint8_t> present;
    uint64_t read_version = 0;  // ReadTime::version; 0 if never read
    std::vector<double> read_arguments;
  };

  WindowRef WindowOf(const Demand& demand, const FunctionPlan& plan, const DemandAge& age,
                     Position origin, WindowSet& windows) const;
  // For each demand in `next`, returns the current demand that it continues, or nullptr if it is
  // new.
  std::vector<const State*> ContinuedBy(const DemandSet& next,
                                        const std::vector<uint32_t>& moved_to) const;
  static void ReadLast(State& state, const Demand& demand, Position tick,
                       const std::vector<SeriesId>& members, const SeriesTable& series);
  static void ReadTrack(State& state, const Demand& demand, std::span<const double> arguments,
                        const ReadTime& time);

  const Limits limits_;
  std::shared_ptr<const DemandSet> set_;
  uint32_t epoch_ = 0;
  std::vector<State> states_;
};

}  // namespace pitwall::window
