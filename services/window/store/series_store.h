// All samples of one job on one clock, and the state of every window that the rules want of them.
//
// What it is: a deterministic state machine. It reads no clock, takes no lock and has no thread;
// one owner calls it. The result of a read is a function of the sealed samples alone, to the bit:
// neither the order of arrival nor a Save and Restore in between, nor what other series or rules
// are loaded, changes a bit (time-model.md, section 2).
//
// How it works: rows wait in open storage until SealTo passes them; then they are applied in RowKey
// order. Each selector has a column per series; each (selector, pane grid) is a Track, which
// gathers the samples of one pane as rows [series], and each (track, window, family of functions) a
// window state over such rows (window_state.h).
//
// Positions are int64: nanoseconds, or steps times kStepUnit (services/model/position.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/binary.h"
#include "services/base/id.h"
#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/position.h"
#include "services/model/windows/demand.h"
#include "services/model/windows/window_limits.h"
#include "services/window/tracks/prefix_progress.h"

namespace pitwall::window {

using SeriesId = Id<struct SeriesIdTag>;
using RowPlanId = Id<struct RowPlanIdTag>;

struct Limits {
  uint32_t max_series = 100'000;               // interned and not yet forgotten
  size_t max_label_bytes = size_t{256} << 20;  // of their labels (LabelBytes)
  size_t max_open_samples = 4'000'000;         // cells of rows that wait to be sealed
  // Windows of more panes than this keep the older ones packed: a quarter more time, a fraction of
  // the memory (docs/decisions/0008-pack-the-old-panes-of-long-windows.md).
  uint32_t long_panes = 1024;
  // Packed samples that the windows of more than long_panes panes over one selector and pane grid
  // share. Beyond it the oldest go, and the windows that lack them have no results (see
  // DemandStatus).
  size_t max_window_bytes = size_t{1} << 30;
};

// Order of rows with one position (time-model.md, 2.6). `index` is the row's index within its
// batch.
struct RowKey {
  int64_t position = 0;
  std::string_view source;
  std::string_view boot_id;
  uint64_t sequence = 0;
  uint32_t index = 0;
};

// Totals since the store was made (they survive Save and Restore).
struct StoreCounters {
  uint64_t cells_appended = 0;    // cells of accepted rows, missing ones and unwanted ones too
  uint64_t samples_sealed = 0;    // applied, without duplicates
  uint64_t stale_markers = 0;     // of these
  uint64_t duplicates = 0;        // second sample of a series at one position, dropped
  uint64_t unwanted = 0;          // present cells of series that no selector matches, dropped
  uint64_t recorded = 0;          // by Record
  uint64_t series_forgotten = 0;  // by Expire
};

class SeriesStore final : public ColumnView {
 public:
  // An id for series that no selector matches: their samples are dropped for free.
  static constexpr SeriesId kUnwanted{UINT32_MAX};
  // A window of more panes than this is refused: choose a range that is a multiple of the group's
  // interval.
  static constexpr int64_t kMaxPanes = pitwall::kMaxPanes;
  // Windows that keep each sample (quantile_over_time, [N samples], …) have room for so many; a
  // series with more has no result (see DemandStatus).
  static constexpr uint32_t kMaxOrderedSamples = kMaxKeptSamples;
  // Samples of a kFirst window, which are kept for as long as the attempt lasts.
  static constexpr uint32_t kMaxFirstSamples = pitwall::kMaxFirstSamples;

  // A sketch keeps so many samples (a run of like ones in one pane is one) of a series.
  static constexpr uint32_t kMaxSketchSamples = pitwall::kMaxSketchSamples;

  // Whether the store can serve this demand: InvalidArgument for a range, interval, offset or
  // function that cannot be, ResourceExhausted beyond kMaxPanes (functions that keep each sample:
  // kMaxOrderedSamples panes) and kMaxOrderedSamples.
  static Status Validate(const Demand& demand);

  // A demand that Validate refuses stays without state: Read gives a column with nothing present.
  SeriesStore(std::shared_ptr<const DemandSet> demands, Limits limits);
  ~SeriesStore() override;
  SeriesStore(const SeriesStore&) = delete;
  SeriesStore& operator=(const SeriesStore&) = delete;

  // ---- Series. Once per schema, never per sample.
  // The id of the series, kUnwanted when no selector matches it; ResourceExhausted beyond
  // max_series, OutOfRange beyond max_label_bytes. Ids stay valid until Expire returns them as
  // forgotten.
  StatusOr<SeriesId> Intern(const Labels& labels);
  // Resolves a row's layout once, so that a row costs array stores only. A series of a plan keeps
  // its id until the plan is released. InvalidArgument for an unknown id. Plans are not saved: plan
  // again after Restore, and intern and plan again after Replace (what was unwanted may be wanted
  // now).
  StatusOr<RowPlanId> Plan(std::vector<SeriesId> ids);
  void ReleasePlan(RowPlanId plan);

  // ---- Samples.
  // One row: values[i] belongs to ids[i]; MissingValue() cells are skipped, StaleMarker() cells end
  // a series. Copied. FailedPrecondition when key.position <= sealed() (late: the caller counts
  // it), ResourceExhausted beyond max_open_samples, InvalidArgument for unknown ids or plans,
  // unequal lengths, or a position outside (kMinPosition, kMaxPosition).
  Status Append(const RowKey& key, RowPlanId plan, std::span<const double> values);
  Status Append(const RowKey& key, std::span<const SeriesId> ids, std::span<const double> values);
  // Stale markers for all of `ids`, a row like any other.
  Status AppendStale(const RowKey& key, std::span<const SeriesId> ids);
  // Applies all open rows with position <= upto in RowKey order. Of two samples of one series at
  // one position the first wins. A lower upto than sealed() changes nothing.
  void SealTo(int64_t upto);
  // kMinPosition before the first seal and after Reset().
  int64_t sealed() const;
  // The least position of an open row.
  std::optional<int64_t> OldestOpen() const;

  // Seals what is before `position` and begins the windows of kAttempt and kFirst again: samples
  // from it on are the new attempt's. Before the first one, an attempt begins with the first
  // sample.
  void BeginAttempt(int64_t position);

  // ---- Ticks.
  // Where demands with align_job count from. Before the first seal.
  void SetOrigin(int64_t origin);
  // Reads are as of this tick. Precondition: tick == sealed().
  void BeginTick(int64_t tick);
  // A sample that evaluation made (output of a recording rule, ALERTS; StaleMarker() where an
  // output ended): at once visible to reads at this tick and later. Precondition: position == the
  // tick begun == sealed(). A series that has a sample at this position keeps the first. Unwanted
  // and forgotten ids are ignored. Whether the series has this value there now.
  bool Record(SeriesId id, int64_t position, double value);

  // ---- ColumnView. Demands are read at ticks that are multiples of their interval (from the
  // origin, if align_job).
  uint64_t Generation(uint32_t selector) const override;
  std::span<const Labels* const> Series(uint32_t selector) const override;
  using ColumnView::Read;
  Column Read(uint32_t demand, std::span<const double> arguments) override;
  // OK, or why columns of this demand lack results: what Validate said, or ResourceExhausted while
  // some series has more than kMaxOrderedSamples in a quantile's window, or kMaxSketchSamples in a
  // sketch's, or the window misses some
  // samples that went for max_window_bytes.
  Status DemandStatus(uint32_t demand) const;
  // Position from which on the window of this demand is complete: kMinPosition for demands of the
  // first set (partial windows are evaluated, as in Prometheus), later for demands that Replace
  // added.
  int64_t FullFrom(uint32_t demand) const;
  // kFirst, while no series has its window yet: how far the fullest is.
  std::optional<PrefixProgress> Filling(uint32_t demand) const;

  // ---- Life of the state.
  // New attempt on the step clock, or steps that went back: all samples, open rows and panes go,
  // sealed() falls back to kMinPosition, and every window counts as one of the first set again.
  // Ids, plans and origin stay.
  void Reset();
  // The same for some series, sealed and open samples both; sealed() stays.
  void Reset(std::span<const SeriesId> ids);
  // Hot reload. State of demands with equal keys is carried over; the others begin empty at
  // sealed().
  void Replace(std::shared_ptr<const DemandSet> demands);
  // Forgets series whose last sample is older than every window and look-back, once they are a
  // sixteenth of all or room is scarce, and returns their ids, which may be given to other series
  // from now on. Those that a plan holds keep their id, but
  // no memory in windows, until their next sample. A function of the calls so far; call it rarely
  // (every minute).
  std::vector<SeriesId> Expire();

  // Everything except plans, open rows included. Restore wants the same demands (InvalidArgument
  // otherwise; DataLoss for damaged bytes); what it makes answers every later call as the saved
  // store does, to the bit.
  void Save(BinaryWriter& out) const;
  static StatusOr<std::unique_ptr<SeriesStore>> Restore(BinaryReader& in,
                                                        std::shared_ptr<const DemandSet> demands,
                                                        Limits limits);

  // ---- Looking in.
  bool IsEmpty() const;  // no series and no open rows: the state may be dropped
  size_t SeriesCount() const;
  size_t OpenSamples() const;
  size_t MemoryBytes() const;
  const StoreCounters& counters() const;
  const DemandSet& demands() const;
  // nullptr for an id that is not known.
  const Labels* LabelsOf(SeriesId id) const;
  // Position of the newest sealed sample, stale markers included.
  std::optional<int64_t> LastPosition(SeriesId id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pitwall::window
