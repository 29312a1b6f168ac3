// State of a SeriesStore. Private to the store's own files.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "services/base/text/strings.h"
#include "services/model/windows/demand.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/kernels/family.h"
#include "services/window/store/open_rows.h"
#include "services/window/store/series_store.h"
#include "services/window/tracks/series_track.h"
#include "services/window/tracks/sketch_window.h"
#include "services/window/tracks/track.h"

namespace pitwall::window {

// A series' place in a selector.
struct Membership {
  uint32_t selector;
  uint32_t column;
};

struct SeriesInfo {
  Labels labels;
  bool known = false;  // false: the id is free
  bool dormant =
      false;  // expired, but a plan holds the id: a member of no selector until its next sample
  uint32_t pins = 0;                   // plans that hold it
  int64_t interned_at = kMinPosition;  // sealed() then
  absl::InlinedVector<Membership, 2> memberships;

  void Clear() {
    labels = Labels();
    known = dormant = false;
    pins = 0;
    interned_at = kMinPosition;
    memberships.clear();
  }
};

// Series by their labels, which stand in SeriesInfo only.
struct LabelsHash {
  using is_transparent = void;
  size_t operator()(const Labels& labels) const { return absl::Hash<Labels>{}(labels); }
  size_t operator()(const Labels* labels) const { return (*this)(*labels); }
};
struct LabelsEq {
  using is_transparent = void;
  bool operator()(const Labels* a, const Labels* b) const { return *a == *b; }
  bool operator()(const Labels* a, const Labels& b) const { return *a == b; }
  bool operator()(const Labels& a, const Labels* b) const { return a == *b; }
};

// The newest sealed sample of a series, stale markers included. position == kMinPosition: none.
struct LastSample {
  int64_t position = kMinPosition;
  double value = 0;
};

struct SelectorState {
  std::vector<SeriesId> members;      // by column
  std::vector<const Labels*> labels;  // by column
  uint64_t generation = 1;
  std::vector<Track*> tracks;
  std::vector<SeriesTrack*> series_tracks;
  std::vector<SketchWindow*> sketches;
  bool windowed() const { return !tracks.empty() || !series_tracks.empty() || !sketches.empty(); }
};

// A row's layout. Kept alive by the caller's handle and by open rows.
struct RowPlan {
  bool live = false;
  uint32_t held = 0;  // by handles: equal layouts share a plan
  uint32_t rows = 0;  // open ones
  std::vector<SeriesId> ids;
  uint64_t layout = 0;  // of the store when the rest was made; 0: not made
  bool has_dormant = false;
  struct Cell {
    uint32_t cell;
    uint32_t id;
  };
  std::vector<Cell> wanted;
  struct Target {
    uint32_t selector;
    std::vector<uint32_t> cells;
    std::vector<uint32_t> columns;
  };
  std::vector<Target> targets;
};

struct DemandState {
  Status status = OkStatus();  // of Validate
  uint32_t epoch = 0;          // 0: of the first set; else the Replace that brought it
  int64_t since = kMinPosition;
  // Neither: answered from the last samples, or refused.
  Track* track = nullptr;
  size_t window = 0;
  SeriesTrack* by_series = nullptr;
  SketchWindow* sketch = nullptr;
  bool lacked = false;  // the last read met a window with missing samples
  std::optional<FunctionPlan> plan;
  std::vector<double> values;
  std::vector<uint8_t> present;
  uint64_t read_version = 0;  // state_version when the column was made; 0: never
  std::vector<double> read_arguments;
};

// Demands that agree in this share a track.
struct TrackKey {
  uint32_t selector;
  int64_t length;
  int64_t cut;
  int64_t phase_offset;  // -offset mod length: the phase but for the origin
  bool align_job;
  bool with_stale;
  bool packed;   // of a long window
  bool attempt;  // starts again with each attempt
  uint32_t epoch;
  friend auto operator<=>(const TrackKey&, const TrackKey&) = default;
};

struct TrackState {
  TrackKey key;
  std::unique_ptr<Track> track;
};

enum class SeriesTrackKind : uint8_t { kSamples, kStates, kFirst };

// Demands that agree in this share a track by series.
struct SeriesTrackKey {
  uint32_t selector;
  SeriesTrackKind kind;
  int64_t length;  // kStates: how long a sample holds; kFirst: samples; else 0
  int64_t skip;    // kFirst
  bool attempt;    // starts again with each attempt
  uint32_t epoch;
  friend auto operator<=>(const SeriesTrackKey&, const SeriesTrackKey&) = default;
};

struct SeriesTrackState {
  SeriesTrackKey key;
  std::unique_ptr<SeriesTrack> track;
};

// All demands for quantiles of one sketched window, of one age.
struct SketchState {
  TrackKey key;
  int64_t panes;
  int64_t delay;
  std::unique_ptr<SketchWindow> window;
};

// Series are forgotten when one in so many can be.
inline constexpr size_t kExpireShare = 16;

struct SeriesStore::State {
  std::shared_ptr<const DemandSet> demands;
  Limits limits;
  StoreCounters counters;

  // Series.
  std::deque<SeriesInfo> series;  // by id; addresses are stable
  std::vector<LastSample> last;   // by id
  std::vector<uint32_t> free_ids;
  size_t known_series = 0;
  size_t label_bytes = 0;  // of the known series (LabelBytes)
  absl::flat_hash_map<const Labels*, uint32_t, LabelsHash, LabelsEq> ids;
  std::vector<SelectorState> selectors;
  StringMap<std::vector<uint32_t>> selectors_by_name;  // whose matchers fix the metric name
  std::vector<uint32_t> nameless_selectors;

  // Rows.
  std::vector<RowPlan> plans;
  std::vector<uint32_t> free_plans;
  absl::flat_hash_map<std::vector<SeriesId>, uint32_t> plan_ids;
  OpenRows open;
  uint64_t layout = 1;          // changes when columns move or memberships change
  std::vector<OpenRow> taken;   // scratch
  std::vector<double> scratch;  // scratch: stale markers taken out

  // Windows.
  std::vector<TrackState> tracks;  // in the order of the first demand of each
  std::vector<SeriesTrackState> series_tracks;
  std::vector<SketchState> sketches;
  std::vector<DemandState> demand_states;
  uint32_t epoch = 0;
  uint64_t state_version = 1;  // grows with every change that a read can see
  int64_t sealed = kMinPosition;
  int64_t tick = kMinPosition;
  int64_t origin = 0;
  int64_t attempt_at =
      kMinPosition;  // windows of an attempt are open here; kMinPosition: no row yet
  bool started = false;

  // store_series.cc
  void IndexSelectors();
  void MatchSeries(const Labels& labels, std::vector<uint32_t>* matching) const;
  StatusOr<SeriesId> Intern(const Labels& labels);
  void Join(uint32_t id);
  void Activate(uint32_t id);
  bool Known(SeriesId id) const { return id.value() < series.size() && series[id.value()].known; }
  StatusOr<uint32_t> FindPlan(std::vector<SeriesId> plan_series);
  void LayOut(RowPlan& plan);
  void DropPlan(uint32_t plan);
  void DropPlanIfUnused(uint32_t plan);
  int64_t HorizonOf(uint32_t selector) const;
  std::vector<SeriesId> Expire();
  void CompactSelectors(const std::vector<bool>& gone);

  // store_samples.cc
  Status CheckRow(const RowKey& key, size_t cells) const;
  void Seal(int64_t upto);
  void ApplyRow(const OpenRow& row);
  bool Record(SeriesId id, int64_t position, double value);
  void Feed(SelectorState& selector, int64_t position, std::span<const uint32_t> cells,
            std::span<const uint32_t> columns, const double* values, const double* without_stale,
            bool huge);

  // store_demands.cc
  void AddDemands(const std::vector<DemandState*>& carried);
  Track* TrackFor(const TrackKey& key);
  SketchWindow* SketchFor(const TrackKey& key, const WindowShape& shape);
  SeriesTrack* SeriesTrackFor(const SeriesTrackKey& key, int64_t since);
  void ReadBySeries(DemandState& state, const Demand& demand, std::span<const double> arguments);
  void Replace(std::shared_ptr<const DemandSet> next);
  Column Read(uint32_t demand, std::span<const double> arguments);

  // store_snapshot.cc
  void Save(BinaryWriter& out) const;
  Status Load(BinaryReader& in);
};

}  // namespace pitwall::window
