// One boot of one telemetry producer in one job: its promise, liveness, schemas, and rows above the
// watermark. Implements time-model.md, sections 1 and 2. Owned by a Job; single-threaded. A
// restarted process is a new Source; the previous one may still send data. Event time determines
// when each one starts and ends.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/sequence_window.h"
#include "services/model/telemetry.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

class PendingBytes;  // defined in services/engine/sources/pending_bytes.h

// Columns of a schema in one store, resolved once per schema rather than once per sample. The
// destructor releases the plan.
struct BoundColumns {
  BoundColumns() = default;
  ~BoundColumns() { Release(); }
  BoundColumns(const BoundColumns&) = delete;
  BoundColumns& operator=(const BoundColumns&) = delete;
  void Release();

  std::weak_ptr<window::SeriesStore> store;
  window::RowPlanId plan;
  std::vector<window::SeriesId> ids;
  uint64_t generation = 0;  // generation of the RowWriter; 0 if not bound
  uint32_t clock = 0;       // on a step clock: clock of the mode that owns the store
};

// Clock numbers within a mode: the shared clock, and clocks for ranks that have fallen behind
// (step_clocks.h).
inline constexpr uint32_t kSharedClock = 0;
inline constexpr uint32_t kNoClock = UINT32_MAX;

// Progress of a rank in one step mode.
struct StepProgress {
  bool announced = false;         // has announced the mode, so the clock waits for its promises
  Step promise = Step::None();    // newest promised step
  Step last = Step::None();       // newest applied step
  uint32_t clock = kSharedClock;  // kNoClock: left its clock, no further step yet
  uint64_t reached = 0;           // StepTimes::count() at last announcement, return, or promise
};

// A source's schema.
struct Binding {
  Schema schema;
  BoundColumns time;
  std::map<std::string, std::unique_ptr<BoundColumns>, std::less<>> steps;  // by mode
  uint64_t last_used = 0;  // batch counter of the source, for eviction
};

// Rows of one frame that wait for the watermark.
struct PendingFrame {
  std::shared_ptr<Binding> binding;  // null while the schema is unknown
  uint64_t schema_id = 0;
  uint64_t sequence = 0;
  uint32_t index = 0;  // index of the frame in its batch
  LogOffset offset;    // log offset of the record with the frame
  std::string mode;
  std::vector<EventTime> times;
  std::vector<Step> steps;  // empty, or one per time
  std::vector<double> values;
  size_t next = 0;  // first row that is not applied yet
  Duration waited;  // in ticks, while the schema is unknown

  size_t columns() const { return times.empty() ? 0 : values.size() / times.size(); }
};

// Source ID for the engine's own series. No other ID starts with '#'.
inline constexpr std::string_view kOwnSource = "#pitwall";

struct Source {
  std::string id;
  SourceInfo info;
  std::string boot;
  SequenceWindow window;

  EventTime promise =
      EventTime::Earliest();  // native: last promise; foreign: newest sample - allowed lateness
  EventTime newest_sample = EventTime::Earliest();
  bool live = false;     // holds back the watermark
  bool goodbye = false;  // ended normally
  EventTime ended_at =
      EventTime::Latest();  // end of its boot or attempt; later samples are zombies

  struct Silence {
    bool tick_skipped = false;  // the first tick after a frame is not counted
    Duration idle;              // in ticks since the last frame
    std::deque<Duration> gaps;  // foreign: last 16 distances between newest samples of frames
  } silence;
  struct Clock {
    Duration trailing;    // in ticks, with a promise more than clock_behind behind others
    bool behind = false;  // flagged: treated as idle until it catches up
    bool ahead = false;   // flagged: sent a time more than clock_ahead after the append
  } clock;
  struct Process {
    bool started = false;        // its start was applied in event-time order
    bool running = false;        // the start of a rank was applied, but no end
    bool lost = false;           // an end without a goodbye was applied
    bool loss_reported = false;  // an end was read, so it does not hold back the watermark
  } process;
  // Attempt number. Empty until the rank has finished a step.
  std::optional<uint64_t> attempt;
  std::map<std::string, StepProgress, std::less<>> steps;  // by mode
  bool step_live = false;                                  // counts for the step watermarks

  uint64_t batches = 0;
  std::map<uint64_t, std::shared_ptr<Binding>> schemas;
  std::map<uint32_t, uint64_t> streams;  // stream -> schema ID of its last applied frame
  std::deque<PendingFrame> pending;      // in order of arrival
  std::deque<PendingFrame> waiting;      // frames with an unknown schema

  bool IsRank() const { return info.kind == SourceKind::kRank; }
  // Event time at which this boot started.
  EventTime start() const { return info.start; }
  bool IsForeign() const { return info.kind == SourceKind::kForeign; }

  // Returns the promise that counts toward the watermark. Frames with an unknown schema hold it
  // back.
  EventTime EffectivePromise() const;
  // Returns how long, in ticks, the source must be silent before it is idle.
  Duration IdleAfter(const EngineOptions& options) const;
  // Records a sequence number. Returns false for a duplicate. Counts gaps in `counters`.
  bool Accept(const Batch& batch, EngineCounters& counters);
  void ResetSilence() {
    silence.tick_skipped = false;
    silence.idle = Duration::Zero();
  }
  // Handles a clock tick. Returns true if the source has become idle at this tick.
  bool Tick(Duration elapsed, const EngineOptions& options);
  // Stores the schema. If there are too many, evicts the least recently used one. Returns false if
  // `memory` has no room for the schema.
  bool AddSchema(const Schema& schema, const EngineOptions& options, PendingBytes* memory);
  // Returns whether the source may send steps in the mode. A new mode is accepted only within
  // max_modes_per_source.
  bool HasRoomForMode(const std::string& mode, const EngineOptions& options) const;
  // Returns whether the schema of any stream contains a series of the metric.
  bool Carries(std::string_view metric) const;

  void Save(BinaryWriter& out) const;
  // `format` is the snapshot's format (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);
};

// Sources of one job, keyed by (ID, boot).
using SourceMap = std::map<std::pair<std::string, std::string>, std::unique_ptr<Source>>;

// One row of a waiting frame. Valid while the frame waits.
struct RowRef {
  EventTime time;
  Source* source = nullptr;
  PendingFrame* frame = nullptr;
  size_t row = 0;

  std::span<const double> values() const {
    const size_t columns = frame->columns();
    return {frame->values.data() + row * columns, columns};
  }
};

}  // namespace pitwall::engine
