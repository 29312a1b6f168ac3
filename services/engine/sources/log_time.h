// Log time of one job, derived from clock ticks and append times.
#pragma once

#include <algorithm>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// Converts an append time to the event time of a source whose clock matches the log's.
constexpr EventTime EventTimeAt(AppendTime time) { return EventTime::FromNs(time.ns()); }

// Not thread-safe.
class LogTime {
 public:
  void OnTick(Duration elapsed) { ticks_ += elapsed; }
  void OnBatch(AppendTime time) { last_append_ = std::max(last_append_, time); }
  // Handles a tick of a job without a watermark. Returns true if the job has waited long enough for
  // a source with a trustworthy clock. The job's time then starts at last_append().
  bool OnBlindTick(Duration elapsed, const EngineOptions& options) {
    blind_ += elapsed;
    return blind_ > options.liveness.idle_after && options.check_append_time;
  }
  // Must be called when the job restarts.
  void Resume() { blind_ = Duration::Zero(); }

  // Sum of all ticks.
  Duration ticks() const { return ticks_; }
  // Newest append time of any batch.
  AppendTime last_append() const { return last_append_; }

  void SaveTicks(BinaryWriter& out) const { out.I64(ticks_.ns()); }
  void RestoreTicks(BinaryReader& in) { ticks_ = Duration::Nanos(in.I64()); }
  // Saves the remaining state, which only a running job has.
  void Save(BinaryWriter& out) const {
    out.I64(blind_.ns());
    out.I64(last_append_.ns());
  }
  void Restore(BinaryReader& in) {
    blind_ = Duration::Nanos(in.I64());
    last_append_ = AppendTime::FromNs(in.I64());
  }

 private:
  Duration ticks_;
  Duration blind_;
  AppendTime last_append_;
};

}  // namespace pitwall::engine
