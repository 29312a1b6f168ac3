// One boot of one producer of telemetry inside one job: what it promised, whether it is live, its
// schemas, and its rows that are still above the watermark. Rules of time-model.md, sections 1
// and 2. Owned by a Job; single-threaded. A restarted process is another Source beside the old one,
// which may still send: they end and begin by event time.
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
#include "services/engine/program/counters.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/sequence_window.h"
#include "services/model/telemetry.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

class PendingBytes;  // services/engine/sources/pending_bytes.h

// A schema's columns resolved in one store: once per schema, never per sample. Gives the plan back
// when it goes.
struct BoundColumns {
  BoundColumns() = default;
  ~BoundColumns() { Release(); }
  BoundColumns(const BoundColumns&) = delete;
  BoundColumns& operator=(const BoundColumns&) = delete;
  void Release();

  std::weak_ptr<window::SeriesStore> store;
  window::RowPlanId plan;
  std::vector<window::SeriesId> ids;
  uint64_t generation = 0;  // of the job's rules that it was made for; 0: not bound
  uint32_t clock = 0;       // steps: the clock of the mode whose store it is
};

// Clocks of a mode: the shared one, and those of ranks that fell behind it (step_clocks.h).
inline constexpr uint32_t kSharedClock = 0;
inline constexpr uint32_t kNoClock = UINT32_MAX;

// Progress of a rank in one mode of steps.
struct StepProgress {
  bool announced = false;         // it has announced the mode: the clock waits for its promises
  int64_t promise = kNoStep;      // newest step promised
  int64_t last = kNoStep;         // newest step applied
  uint32_t clock = kSharedClock;  // kNoClock: it left, and has not reached a further step yet
  uint64_t reached = 0;  // StepTimes::count() of its clock when it announced, joined, or promised
};

// A schema of a source.
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
  uint32_t index = 0;  // of the frame in its batch
  int64_t offset = 0;  // of the record that it came in
  std::string mode;
  std::vector<int64_t> times;
  std::vector<int64_t> steps;  // empty or as long as times
  std::vector<double> values;
  size_t next = 0;        // first row not yet applied
  int64_t waited_ns = 0;  // of ticks, while the schema is unknown

  size_t columns() const { return times.empty() ? 0 : values.size() / times.size(); }
};

// Source of the engine's own series, beside those of collectors. No other ID begins with '#'.
inline constexpr std::string_view kOwnSource = "#pitwall";

struct Source {
  std::string id;
  SourceInfo info;
  std::string boot;
  SequenceWindow window;

  int64_t promise = kMinPosition;  // native: as promised; foreign: newest sample - allowed lateness
  int64_t newest_sample = kMinPosition;
  bool live = false;     // holds the watermark
  bool goodbye = false;  // ended in order
  int64_t ended_at =
      kMaxPosition;  // its boot or attempt ended there: samples after it are a zombie's

  struct Silence {
    bool tick_skipped = false;  // the first tick after a frame is not counted
    int64_t idle_ns = 0;        // of ticks since then
    std::deque<int64_t> gaps;   // foreign: the last 16 between the newest samples of frames
  } silence;
  struct Clock {
    int64_t trailing_ns = 0;  // of ticks, with a promise more than clock_behind_ns behind others
    bool behind = false;      // flagged: treated as idle until it no longer trails
    bool ahead = false;       // flagged: it sent a time more than clock_ahead_ns after the append
  } clock;
  struct Process {
    bool started = false;        // its start was applied, in order of event time
    bool running = false;        // so it was for a rank, and no end of it was
    bool lost = false;           // it ended without a goodbye: that was applied
    bool loss_reported = false;  // that was read: it holds no watermark any more
  } process;
  // Steps. `attempt`: not known before a rank has finished a step.
  std::optional<uint64_t> attempt;
  std::map<std::string, StepProgress, std::less<>> steps;  // by mode
  bool step_live = false;                                  // takes part in the step watermarks

  uint64_t batches = 0;
  std::map<uint64_t, std::shared_ptr<Binding>> schemas;
  std::map<uint32_t, uint64_t> streams;  // stream -> schema id of its last applied frame
  std::deque<PendingFrame> pending;      // in order of arrival
  std::deque<PendingFrame> waiting;      // schema unknown

  bool IsRank() const { return info.kind == SourceKind::kRank; }
  bool IsForeign() const { return info.kind == SourceKind::kForeign; }

  // The promise that counts for the watermark: frames whose schema is unknown hold it back.
  int64_t EffectivePromise() const;
  // How long a silence of ticks makes it idle.
  int64_t IdleAfter(const EngineOptions& options) const;
  // False for a duplicate. Counts gaps into `counters`.
  bool Accept(const Batch& batch, EngineCounters& counters);
  void Heard() {
    silence.tick_skipped = false;
    silence.idle_ns = 0;
  }
  // A clock tick was read: true when the source has just become idle by it.
  bool Tick(int64_t elapsed_ns, const EngineOptions& options);
  // Remembers the schema; the least recently used one goes when there are too many. False: there
  // is no room for it in `memory`.
  bool AddSchema(const Schema& schema, const EngineOptions& options, PendingBytes* memory);
  // Whether steps of the mode can be followed: an unknown one only within max_modes_per_source.
  bool HasRoomForMode(const std::string& mode, const EngineOptions& options) const;
  // Whether any schema of its streams has a series of that metric.
  bool Carries(std::string_view metric) const;

  void Save(BinaryWriter& out) const;
  // `format`: of the snapshot (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);
};

// The sources of one job by (id, boot).
using SourceMap = std::map<std::pair<std::string, std::string>, std::unique_ptr<Source>>;

// One row of a frame that waited. Valid as long as the frame waits.
struct RowRef {
  int64_t time = 0;
  Source* source = nullptr;
  PendingFrame* frame = nullptr;
  size_t row = 0;

  std::span<const double> values() const {
    const size_t columns = frame->columns();
    return {frame->values.data() + row * columns, columns};
  }
};

}  // namespace pitwall::engine
