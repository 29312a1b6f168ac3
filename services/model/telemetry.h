// Decoded records from pitwall.telemetry. services/codec converts between bytes and these types.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/time.h"
#include "services/model/job.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall {

// A kCounter only increases, except when it is reset to zero.
enum class SeriesKind { kGauge, kCounter };

struct SeriesDescriptor {
  Labels labels;  // includes __name__
  SeriesKind kind = SeriesKind::kGauge;
  friend bool operator==(const SeriesDescriptor&, const SeriesDescriptor&) = default;
};

// Columns of a frame. A source may have several streams (node series, GPU series, step series),
// each with one schema at a time. If a series is missing from the next schema of its stream, it has
// ended.
struct Schema {
  uint64_t id = 0;  // SchemaId(stream, series)
  uint32_t stream = 0;
  std::vector<SeriesDescriptor> series;
};
// Returns a stable hash of the stream and the descriptors in order.
uint64_t SchemaId(uint32_t stream, std::span<const SeriesDescriptor> series);

// Samples of one source: values[tick * columns + column], or MissingValue(). The spans point into
// the decoded buffer and must not outlive it.
struct Frame {
  uint64_t schema_id = 0;
  std::span<const int64_t> times;  // event time of each tick in Unix nanoseconds, ascending
  std::span<const int64_t>
      steps;  // same length, or empty if no tick has a step; kNoStep for ticks without a step
  std::string_view mode;  // train, eval, …; empty if the frame has no steps
  std::span<const double> values;
};

struct Span {
  enum class Kind { kStep, kPhase, kOperator };
  Kind kind = Kind::kPhase;
  std::string name;  // phase or operator name; "" for a step
  EventTime start;
  EventTime end;
  int64_t step = kNoStep;
  std::string mode;
};

enum class SourceKind { kNode, kRank, kForeign };

struct SourceInfo {
  SourceKind kind = SourceKind::kNode;
  std::string node;
  int64_t rank = -1;                    // kRank only
  EventTime start;                      // start of this boot of the source
  std::optional<uint64_t> attempt;      // PITWALL_ATTEMPT, if set
  Duration interval;                    // declared sampling interval; 0 unknown
  std::vector<std::string> step_modes;  // modes whose steps this source announced
};

// End of a rank's process without a goodbye, as observed by the collector on its node.
struct RankLost {
  int64_t rank = -1;
  std::string source;  // source ID of the rank's own batches
  std::string boot_id;
  std::optional<int32_t> signal;     // signal that terminated the process; nullopt: unknown
  std::optional<int32_t> exit_code;  // nullopt: unknown
  bool oom_killed = false;
  std::string exception;  // type and one line of the reported exception, or ""
  friend bool operator==(const RankLost&, const RankLost&) = default;
};

struct JobEvent {
  // kLauncherGone: the process that launched the ranks on this node has ended.
  enum class Kind { kStarted, kEnded, kNotice, kRankLost, kLauncherGone };
  Kind kind = Kind::kStarted;
  EventTime time;
  std::string name;  // name of the job; a label, not an ID
  JobReference reference;
  std::vector<Label> labels;  // labels of the job, for example parameter overrides
  // Depends on the kind. kEnded: completed, failed, cancelled, or stopped. kNotice:
  // gpu_split_unknown, …, or kStopping if the executor is about to stop the job. kRankLost:
  // "failed" if the rank reported it in a goodbye, so its process did not vanish.
  std::string reason;
  std::vector<std::string>
      series;          // kNotice: names of suppressed series; an empty list ends the suppression
  RankLost rank_lost;  // kRankLost only
};

inline constexpr std::string_view kStopping = "stopping";

inline bool ReportedFailure(const JobEvent& event) {
  return event.kind == JobEvent::Kind::kRankLost && event.reason == "failed";
}

struct StepPromise {
  std::string mode;
  int64_t step = 0;  // no more data for steps up to this one
};

// Schema shared by many batches. Sources repeat a schema every few seconds, and it is decoded only
// once. Converts implicitly from a Schema. Immutable and cheap to copy.
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

// Record with all data that a source sends about one job at one time.
struct Batch {
  std::string job;
  std::string source;
  std::string boot_id;
  uint64_t sequence = 0;  // per (source, boot ID, job), starting at 1
  // If not 0, counting restarted at this sequence number, so missing earlier batches are not a gap.
  uint64_t first_sequence = 0;
  SourceInfo info;
  // The source promises to send no more data at or before this time. 0 for sources of kind
  // kForeign.
  EventTime promise;
  std::vector<SharedSchema> schemas;
  std::vector<Frame> frames;
  std::vector<Span> spans;
  std::vector<JobEvent> events;
  std::vector<StepPromise> step_promises;
  // The source ended with a goodbye and is removed immediately instead of becoming idle.
  bool goodbye = false;
  // Owner of the job as reported by the source's collector: "uid:1000", "pod:<uid>"; "": unknown.
  std::string owner;
  bool owner_declared = false;  // declared by root; overrides an undeclared owner
};

// Control record that the owner of a partition writes between batches.
struct ControlRecord {
  enum class Kind { kClockTick, kRuleSetChange };
  Kind kind = Kind::kClockTick;
  // kClockTick only: monotonic time since this owner's last tick; zero for its first.
  Duration elapsed;
  std::string rule_set_hash;  // kRuleSetChange only
};

}  // namespace pitwall
