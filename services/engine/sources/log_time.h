// Log time of one job, derived from clock ticks and append times. In nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/base/binary.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// Not thread-safe.
class LogTime {
 public:
  void OnTick(int64_t elapsed_ns) { ticks_ns_ += elapsed_ns; }
  void OnBatch(int64_t append_time_ns) {
    last_append_ns_ = std::max(last_append_ns_, append_time_ns);
  }
  // Handles a tick of a job without a watermark. Returns true if the job has waited long enough for
  // a source with a trustworthy clock. The time of the job then starts at last_append_ns().
  bool OnBlindTick(int64_t elapsed_ns, const EngineOptions& options) {
    blind_ns_ += elapsed_ns;
    return blind_ns_ > options.liveness.idle_after_ns && options.check_append_time;
  }
  // Must be called when the job starts again.
  void Resume() { blind_ns_ = 0; }

  // Sum of all ticks.
  int64_t ticks_ns() const { return ticks_ns_; }
  // The newest append time of a batch.
  int64_t last_append_ns() const { return last_append_ns_; }

  void SaveTicks(BinaryWriter& out) const { out.I64(ticks_ns_); }
  void RestoreTicks(BinaryReader& in) { ticks_ns_ = in.I64(); }
  // Saves the remaining state, which only a running job has.
  void Save(BinaryWriter& out) const {
    out.I64(blind_ns_);
    out.I64(last_append_ns_);
  }
  void Restore(BinaryReader& in) {
    blind_ns_ = in.I64();
    last_append_ns_ = in.I64();
  }

 private:
  int64_t ticks_ns_ = 0;
  int64_t blind_ns_ = 0;
  int64_t last_append_ns_ = 0;
};

}  // namespace pitwall::engine
