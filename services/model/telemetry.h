// Decoded records of pitwall.telemetry. services/codec converts them from and to bytes.
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

// kCounter only increases, except for a reset to zero.
enum class SeriesKind { kGauge, kCounter };

struct SeriesDescriptor {
  Labels labels;  // with __name__
  SeriesKind kind = SeriesKind::kGauge;
  friend bool operator==(const SeriesDescriptor&, const SeriesDescriptor&) = default;
};

// Columns of a frame. A source may have several streams (node series, GPU series, step series),
// each with one schema at a time: a series missing from the stream's next schema has ended.
struct Schema {
  uint64_t id = 0;  // SchemaId(stream, series)
  uint32_t stream = 0;
  std::vector<SeriesDescriptor> series;
};
// Returns a stable hash over the stream and the descriptors in order.
uint64_t SchemaId(uint32_t stream, std::span<const SeriesDescriptor> series);

// Samples of one source: values[tick * columns + column], or MissingValue(). Spans point into the
// decoded buffer and are valid as long as it.
struct Frame {
  uint64_t schema_id = 0;
  std::span<const int64_t> times_ns;  // event time per tick, ascending
  std::span<const int64_t>
      steps;  // same length, or empty if no tick has a step; kNoStep for ticks without a step
  std::string_view mode;  // train, eval, …; empty if the frame has no steps
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
  int64_t start_ns = 0;                 // event time of the start of this boot of the source
  std::optional<uint64_t> attempt;      // PITWALL_ATTEMPT, if set
  int64_t interval_ns = 0;              // declared sampling interval; 0 unknown
  std::vector<std::string> step_modes;  // modes whose steps this source announced
};

// End of a rank's process without a goodbye, as observed by the collector of its node.
struct RankLost {
  int64_t rank = -1;
  std::string source;  // of the rank's own batches
  std::string boot_id;
  std::optional<int32_t> signal;     // that terminated it; nothing: unknown
  std::optional<int32_t> exit_code;  // nothing: unknown
  bool oom_killed = false;
  std::string exception;  // type and one line of the reported exception, or ""
  friend bool operator==(const RankLost&, const RankLost&) = default;
};

struct JobEvent {
  // kLauncherGone: the process that started the ranks on this node has ended.
  enum class Kind { kStarted, kEnded, kNotice, kRankLost, kLauncherGone };
  Kind kind = Kind::kStarted;
  int64_t time_ns = 0;
  std::string name;  // of the job; a label, not an ID
  JobReference reference;
  std::vector<Label> labels;  // of the job, e.g. parameter overrides
  // kEnded: completed, failed, cancelled, stopped; kNotice: gpu_split_unknown, …, or kStopping: the
  // executor is about to stop the job; kRankLost: "failed" if the rank sent a goodbye with it, so
  // that its process did not vanish.
  std::string reason;
  std::vector<std::string>
      series;          // kNotice: names of withheld series; an empty list ends the withholding
  RankLost rank_lost;  // kRankLost only
};

inline constexpr std::string_view kStopping = "stopping";

inline bool ReportedFailure(const JobEvent& event) {
  return event.kind == JobEvent::Kind::kRankLost && event.reason == "failed";
}

struct StepPromise {
  std::string mode;
  int64_t step = 0;  // no data of steps <= this follows
};

// A schema shared by many batches: sources repeat it every few seconds, and it is decoded once.
// Implicitly converts from a Schema. Immutable; cheap to copy.
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

// One record: all simultaneous data of a source about one job.
struct Batch {
  std::string job;
  std::string source;
  std::string boot_id;
  uint64_t sequence = 0;  // per (source, boot id, job), from 1
  // Not 0: counting restarted at this sequence, so missing earlier ones are not a gap.
  uint64_t first_sequence = 0;
  SourceInfo info;
  int64_t promise_ns =
      0;  // no data at or before it follows from this source; 0 for foreign sources
  std::vector<SharedSchema> schemas;
  std::vector<Frame> frames;
  std::vector<Span> spans;
  std::vector<JobEvent> events;
  std::vector<StepPromise> step_promises;
  bool goodbye = false;  // the source ends in order and leaves at once instead of becoming idle
  // Owner of the job as known to the source's collector: "uid:1000", "pod:<uid>"; "": unknown.
  std::string owner;
  bool owner_declared = false;  // declared by root; overrides an undeclared one
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
