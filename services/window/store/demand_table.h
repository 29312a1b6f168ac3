// The demands of a store: the window of each, its age, and its last result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/model/position.h"
#include "services/model/windows/demand.h"
#include "services/window/kernels/family.h"
#include "services/window/store/selector_columns.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"
#include "services/window/store/window_set.h"

namespace pitwall::window {

// When a demand came.
struct DemandAge {
  uint32_t epoch = 0;            // 0: of the first set; else the Replace that brought it
  int64_t since = kMinPosition;  // where the store was then; kMinPosition for the first set
};

// The moment of a read.
struct ReadTime {
  int64_t tick;
  int64_t attempt_at;  // windows of an attempt are open here
  uint64_t version;    // of all that a read can see; never 0
};

// Not thread-safe. Demands are known by their index in the set.
class DemandTable {
 public:
  // max_window_bytes and long_panes apply.
  explicit DemandTable(const Limits& limits) : limits_(limits) {}

  const DemandSet& set() const { return *set_; }
  std::shared_ptr<const DemandSet> shared_set() const { return set_; }
  // Makes a window for each demand of `set`, or finds it. `ages`: of demands that were in the set
  // before. New ones get the current epoch and `sealed`. `origin`: as in SeriesStore::SetOrigin.
  void Assign(std::shared_ptr<const DemandSet> set,
              const std::vector<std::optional<DemandAge>>& ages, int64_t sealed, int64_t origin,
              WindowSet& windows);
  // Another set, in a new epoch; the windows that it shares with the one before are kept.
  // `moved_to`: the new number of each selector that stays, else UINT32_MAX.
  void Replace(std::shared_ptr<const DemandSet> next, const std::vector<uint32_t>& moved_to,
               int64_t sealed, int64_t origin, WindowSet& windows);

  // Valid until the next read of the demand.
  Column Read(uint32_t demand, std::span<const double> arguments, const ReadTime& time,
              const SelectorColumns& columns, const SeriesTable& series);
  // As in SeriesStore.
  Status StatusOf(uint32_t demand) const;
  int64_t FullFrom(uint32_t demand) const;
  std::optional<PrefixProgress> Filling(uint32_t demand, int64_t tick) const;

  // Samples at or before now - horizon are in no read of the selector.
  int64_t HorizonOf(uint32_t selector) const;
  // All demands count as of the first set: nothing was sealed before them.
  void Reset();

  void SaveAges(BinaryWriter& out) const;
  // `demands`: their number. Assign next.
  std::vector<std::optional<DemandAge>> LoadAges(BinaryReader& in, size_t demands);
  size_t MemoryBytes() const;

 private:
  struct State {
    Status status = OkStatus();  // of Validate
    DemandAge age;
    std::optional<FunctionPlan> plan;
    WindowRef at;
    bool lacked = false;  // the last read met a window with missing samples
    // The last result.
    std::vector<double> values;
    std::vector<uint8_t> present;
    uint64_t read_version = 0;  // ReadTime::version; 0: never
    std::vector<double> read_arguments;
  };

  WindowRef WindowOf(const Demand& demand, const FunctionPlan& plan, const DemandAge& age,
                     int64_t origin, WindowSet& windows) const;
  // By demand of `next`: that of the set now which it continues, or nullptr.
  std::vector<const State*> ContinuedBy(const DemandSet& next,
                                        const std::vector<uint32_t>& moved_to) const;
  static void ReadLast(State& state, const Demand& demand, int64_t tick,
                       const std::vector<SeriesId>& members, const SeriesTable& series);
  static void ReadTrack(State& state, const Demand& demand, std::span<const double> arguments,
                        const ReadTime& time);

  const Limits limits_;
  std::shared_ptr<const DemandSet> set_;
  uint32_t epoch_ = 0;
  std::vector<State> states_;
};

}  // namespace pitwall::window
