// Telemetry batches for one rank process, as the node's collector would write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/codec/steps/step_series.h"
#include "services/loadgen/rank_walk.h"
#include "services/model/telemetry.h"

namespace pitwall::loadgen {

// Fields common to all batches from one source.
struct SourceName {
  std::string job;
  std::string source;
  std::string boot_id;
  SourceInfo info;
};

// Returns a batch without data, and increments `*sequence`.
Batch BeginBatch(const SourceName& name, uint64_t* sequence, int64_t promise_ns);

// The frames of a returned batch refer to this object's data and are valid until the next call. Not
// thread-safe.
class RankTelemetry {
 public:
  RankTelemetry(SourceName name, int64_t world_size);

  Batch Announce(std::optional<JobEvent> event);
  Batch Update(const RankNews& news, int64_t promise_ns);
  Batch Goodbye();
  // Returns a batch that reports the signal that ended the process.
  Batch Lost(int64_t at_ns, int64_t signal);
  Batch LauncherGone(int64_t at_ns);

  const SourceName& name() const { return name_; }

 private:
  Batch Event(JobEvent event);
  Batch Finish(Batch batch);

  SourceName name_;
  steps::StepSeries series_;
  uint64_t sequence_ = 0;
  int64_t promise_ns_;
  int64_t schemas_sent_ns_ = 0;
};

}  // namespace pitwall::loadgen
