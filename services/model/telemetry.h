// Decoded telemetry: what one record of pitwall.telemetry says. services/codec fills it from bytes
// and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/job.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall {

// kCounter only ever grows, except for a reset to zero.
enum class SeriesKind { kGauge, kCounter };

struct SeriesDescriptor {
  Labels labels;  // with __name__
  SeriesKind kind = SeriesKind::kGauge;
  friend bool operator==(const SeriesDescriptor&, const SeriesDescriptor&) = default;
};

// The columns of a frame. A source may run several streams (node series, GPU series, step series),
// each with one schema at a time: a series missing from the stream's next schema has ended.
struct Schema {
  uint64_t id = 0;  // SchemaId(stream, series)
  uint32_t stream = 0;
  std::vector<SeriesDescriptor> series;
};
// Stable hash over stream and descriptors in order.
uint64_t SchemaId(uint32_t stream, std::span<const SeriesDescriptor> series);

// Samples of one source: values[tick * columns + column]; MissingValue() where there is none. Spans
// point into whatever was decoded and live as long as it does.
struct Frame {
  uint64_t schema_id = 0;
  std::span<const int64_t> times_ns;  // event time per tick, ascending
  std::span<const int64_t>
      steps;  // same length, or empty when no tick has a step; kNoStep where there is none
  std::string_view mode;  // train, eval, …; empty when the frame has no steps
  std::span<const double> values;
};

struct Span {
  enum class Kind { kStep, kPhase, kOperator };
  Kind kind = Kind::kPhase;
  std::string name;  // phase or operator name; "" for a step
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t step = kNoStep;
  std::string mode;
};

enum class SourceKind { kNode, kRank, kForeign };

struct SourceInfo {
  SourceKind kind = SourceKind::kNode;
  std::string node;
  int64_t rank = -1;                    // kRank only
  int64_t start_ns = 0;                 // when this boot of the source started (event time)
  std::optional<uint64_t> attempt;      // PITWALL_ATTEMPT, where set
  int64_t interval_ns = 0;              // declared sampling interval; 0 unknown
  std::vector<std::string> step_modes;  // modes whose steps this source announced
};

// The end of a rank's process without goodbye, as the collector of its node saw it.
struct RankLost {
  int64_t rank = -1;
  std::string source;  // of the rank's own batches
  std::string boot_id;
  std::optional<int32_t> signal;     // that ended it; nothing: not known
  std::optional<int32_t> exit_code;  // nothing: not known
  bool oom_killed = false;
  std::string exception;  // what it said of it: its type and a line of text; "": nothing
  friend bool operator==(const RankLost&, const RankLost&) = default;
};

struct JobEvent {
  // kLauncherGone: the process that started the ranks on this node is gone.
  enum class Kind { kStarted, kEnded, kNotice, kRankLost, kLauncherGone };
  Kind kind = Kind::kStarted;
  int64_t time_ns = 0;
  std::string name;  // of the job; a label, not an id
  JobReference reference;
  std::vector<Label> labels;  // of the job, e.g. parameter overrides
  // kEnded: completed, failed, cancelled, stopped; kNotice: gpu_split_unknown, …, or kStopping:
  // the executor is about to end the job; kRankLost:
  // "failed" when the rank said goodbye with it, so that its process did not vanish.
  std::string reason;
  std::vector<std::string> series;  // kNotice: names of series that are withheld; none lifts that
  RankLost rank_lost;               // kRankLost only
};

inline constexpr std::string_view kStopping = "stopping";

inline bool ReportedFailure(const JobEvent& event) {
  return event.kind == JobEvent::Kind::kRankLost && event.reason == "failed";
}

struct StepPromise {
  std::string mode;
  int64_t step = 0;  // nothing of a step <= this follows
};

// A schema that many batches carry: sources repeat theirs every few seconds, and it is read once.
// Made from a Schema, reads as one. Immutable; cheap to copy.
class SharedSchema {
 public:
  SharedSchema(Schema schema) : schema_(std::make_shared<const Schema>(std::move(schema))) {}
  explicit SharedSchema(std::shared_ptr<const Schema> schema) : schema_(std::move(schema)) {}
  operator const Schema&() const { return *schema_; }
  const Schema& operator*() const { return *schema_; }
  const Schema* operator->() const { return schema_.get(); }

 private:
  std::shared_ptr<const Schema> schema_;  // never null
};

// One record: everything a source says at once about one job.
struct Batch {
  std::string job;
  std::string source;
  std::string boot_id;
  uint64_t sequence = 0;  // per (source, boot id, job), from 1
  // Not 0: the count began again here, and what is missing below it is no gap.
  uint64_t first_sequence = 0;
  SourceInfo info;
  int64_t promise_ns = 0;  // nothing of this source at or before it follows; foreign sources: 0
  std::vector<SharedSchema> schemas;
  std::vector<Frame> frames;
  std::vector<Span> spans;
  std::vector<JobEvent> events;
  std::vector<StepPromise> step_promises;
  bool goodbye = false;  // the source ends here, in order: it leaves at once instead of going idle
  // Owner of the job as the source's collector knows it: "uid:1000", "pod:<uid>"; "": unknown.
  std::string owner;
  bool owner_declared = false;  // by root; displaces one that was not
};

// A record that the owner of a partition writes between the batches.
struct ControlRecord {
  enum class Kind { kClockTick, kRuleSetChange };
  Kind kind = Kind::kClockTick;
  int64_t elapsed_ns =
      0;  // kClockTick: monotonic time since this owner's last tick; 0 for its first
  std::string rule_set_hash;  // kRuleSetChange
};

}  // namespace pitwall
