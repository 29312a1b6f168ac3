// All samples of one job on one clock, and the state of every window that the rules need.
//
// The store is a deterministic state machine. It reads no clock, takes no lock, and starts no
// thread; a single owner calls it. The result of a read is a bit-exact function of the sealed
// samples. It does not depend on the order of arrival, on a Save and Restore in between, or on
// the other series and rules that are loaded (time-model.md, section 2).
//
// Rows are stored as open rows until SealTo passes them, and are then applied in RowKey order. Each
// selector has one column per series. Each (selector, pane grid) is a Track, which collects the
// samples of one pane as rows indexed by series. Each (track, window, function family) has a state
// over such rows (services/window/tracks/track_windows.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/id.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/model/labels.h"
#include "services/model/windows/demand.h"
#include "services/model/windows/window_limits.h"
#include "services/window/store/demand_results.h"

namespace pitwall::window {

class SeriesTable;

using SeriesId = Id<struct SeriesIdTag>;
using RowPlanId = Id<struct RowPlanIdTag>;

struct Limits {
  uint32_t max_series = 100'000;               // interned series that are not forgotten yet
  size_t max_label_bytes = size_t{256} << 20;  // total size of their labels (LabelBytes)
  size_t max_open_samples = 4'000'000;         // cells of rows that are not sealed yet
  // Windows with more panes than this keep their older panes packed, which takes a quarter more
  // time but only a fraction of the memory
  // (docs/decisions/0008-pack-the-old-panes-of-long-windows.md).
  uint32_t long_panes = 1024;
  // Limit on packed samples, shared by all windows of more than long_panes panes over one selector
  // and pane grid. Above the limit, the oldest samples are dropped, and the windows that need the
  // dropped samples have no results (see DemandResults::StatusOf).
  size_t max_window_bytes = size_t{1} << 30;
};

// Sort key of rows with the same position (time-model.md, 2.6). `index` is the row's index within
// its batch.
struct RowKey {
  Position position;
  std::string_view source;
  std::string_view boot_id;
  uint64_t sequence = 0;
  uint32_t index = 0;
};

// Totals since the creation of the store. Snapshots include them.
struct StoreCounters {
  uint64_t cells_appended = 0;    // cells in accepted rows, including missing and unwanted cells
  uint64_t samples_sealed = 0;    // applied samples, excluding duplicates
  uint64_t stale_markers = 0;     // stale markers among the sealed samples
  uint64_t duplicates = 0;        // further samples of a series at one position; dropped
  uint64_t unwanted = 0;          // present cells whose series no selector matches; dropped
  uint64_t recorded = 0;          // samples added by Record
  uint64_t series_forgotten = 0;  // series forgotten by Expire
};

// State machine for the samples. DemandResults reads it, and StoreSnapshot (store_snapshot.h) saves
// and restores it.
class SeriesStore final {
 public:
  // Shared ID of all series that no selector matches. Dropping their samples costs nothing.
  static constexpr SeriesId kUnwanted{UINT32_MAX};
  // Maximum number of panes per window. Demands with more panes are rejected; use a range that is a
  // multiple of the group's interval.
  static constexpr int64_t kMaxPanes = pitwall::kMaxPanes;
  // Maximum number of samples per series in windows that keep each sample (quantile_over_time, [N
  // samples], …). A series with more samples has no result (see DemandResults::StatusOf).
  static constexpr uint32_t kMaxOrderedSamples = kMaxKeptSamples;
  // Maximum number of samples in a kFirst window. They are kept for the whole attempt.
  static constexpr uint32_t kMaxFirstSamples = pitwall::kMaxFirstSamples;

  // Maximum number of samples a sketch keeps per series. Consecutive equal values within a pane
  // count once.
  static constexpr uint32_t kMaxSketchSamples = pitwall::kMaxSketchSamples;

  // Creates a store. A demand that ValidateDemand rejects has no state, and its Read returns a
  // column without present values.
  SeriesStore(std::shared_ptr<const DemandSet> demands, Limits limits);
  ~SeriesStore();
  SeriesStore(const SeriesStore&) = delete;
  SeriesStore& operator=(const SeriesStore&) = delete;

  // ---- Series. Call Intern once per schema, not per sample. Returns the ID of the series, or
  // kUnwanted if no selector matches the series. Returns ResourceExhausted above max_series and
  // OutOfRange above max_label_bytes. An ID is valid until Expire returns it as forgotten.
  StatusOr<SeriesId> Intern(const Labels& labels);
  // Resolves the layout of a row once, so that appending a row costs only array stores. A series in
  // a plan keeps its ID until the plan is released. Returns InvalidArgument if an ID is unknown.
  // Plans are not saved: call Plan again after Restore. Call Intern and Plan again after Replace,
  // because series that were unwanted may be wanted by the new demands.
  StatusOr<RowPlanId> Plan(std::vector<SeriesId> ids);
  void ReleasePlan(RowPlanId plan);

  // ---- Samples. Appends a copy of one row in which values[i] belongs to ids[i]. MissingValue()
  // cells are skipped, and StaleMarker() cells end a series. Returns FailedPrecondition for late
  // rows (key.position <= sealed()), which the caller counts. Returns ResourceExhausted above
  // max_open_samples. Returns InvalidArgument for unknown IDs or plans, unequal lengths, or a
  // position outside (Position::Earliest(), Position::Latest()).
  Status Append(const RowKey& key, RowPlanId plan, std::span<const double> values);
  Status Append(const RowKey& key, std::span<const SeriesId> ids, std::span<const double> values);
  // Appends a row with stale markers for all of `ids`.
  Status AppendStale(const RowKey& key, std::span<const SeriesId> ids);
  // Applies all open rows with position <= upto in RowKey order. If a series has two samples at one
  // position, the first sample wins. Does nothing if `upto` is lower than sealed().
  void SealTo(Position upto);
  // Returns the sealed position, or Position::Earliest() before the first seal and after Reset().
  Position sealed() const;
  // Returns the lowest position of an open row.
  std::optional<Position> OldestOpen() const;

  // Seals all rows before `position` and restarts the kAttempt and kFirst windows. Samples at or
  // after `position` belong to the new attempt. Before the first call, an attempt starts with the
  // first sample.
  void BeginAttempt(Position position);

  // ---- Ticks. Sets the origin for demands with align_job. Call this before the first seal.
  void SetOrigin(Position origin);
  // Starts a tick. Reads return the state at this tick. Requires tick == sealed().
  void BeginTick(Position tick);
  // Adds a sample produced by evaluation: the output of a recording rule, ALERTS, or StaleMarker()
  // where an output ended. The sample is immediately visible to reads at this tick and later. The
  // position must equal the current tick and sealed(). If the series already has a sample at this
  // position, that sample is kept. Unwanted and forgotten IDs are ignored. Returns whether the
  // series now has this value at the position.
  bool Record(SeriesId id, Position position, double value);

  // ---- Reads. Returns the results of the demands at the current tick.
  DemandResults& results();
  // Returns the labels and the newest sealed sample of each series.
  const SeriesTable& series() const;

  // ---- Lifetime of the state. Resets the store for a new attempt on the step clock, or if the
  // step number decreased. All samples, open rows, and panes are dropped, sealed() returns to
  // Position::Earliest(), and every window is treated as part of the first set. IDs, plans, and the
  // origin are kept.
  void Reset();
  // Replaces the demands on a hot reload. Demands with equal keys keep their state; the other
  // demands start empty at sealed().
  void Replace(std::shared_ptr<const DemandSet> demands);
  // Forgets series whose last sample is older than every window and look-back period. To limit the
  // cost, the call does nothing until such series make up a sixteenth of all series or space is
  // scarce. Returns their IDs, which may be reused for other series. A series in a plan keeps its
  // ID but uses no window memory until its next sample. The result depends only on the previous
  // calls. Call this rarely, for example every minute.
  std::vector<SeriesId> Expire();

  // ---- Inspection.
  size_t MemoryBytes() const;
  const StoreCounters& counters() const;

 private:
  friend class StoreSnapshot;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pitwall::window
