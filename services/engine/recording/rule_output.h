// Series that one rule writes: the samples at a tick, and stale markers for series missing from
// that tick. Private to the engine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rules/alert/alert_state.h"
#include "rules/eval/vector.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/recording/series_writer.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Not thread-safe. In the steady state, a tick does not allocate memory.
class RuleOutput {
 public:
  // Replaces the collected samples with the elements of a result. Returns InvalidArgument if the
  // rule's labels make two elements equal, and ResourceExhausted above `limit` elements (0 means no
  // limit).
  Status Collect(const plan::Rule& rule, uint32_t limit, const eval::Vector& result,
                 Position position, SeriesWriter* writer);
  // Replaces the collected samples with the ALERTS and ALERTS_FOR_STATE samples of the alerts.
  void CollectAlerts(const alert::AlertState& alerts, SeriesWriter* writer);
  void CollectNothing() { samples_.clear(); }
  // Writes the collected samples. Also writes stale markers for series from the last tick that have
  // no collected sample. Returns false if there was nothing to write.
  bool Flush(Position position, SeriesWriter* writer);

  // Series written at the last tick, in ID order.
  const std::vector<window::SeriesId>& written() const { return written_; }
  bool Wrote(window::SeriesId id) const;
  // Takes over the series that the other rule wrote at its last tick.
  void Inherit(RuleOutput* from) { written_ = std::move(from->written_); }

  // Removes these series (sorted), which the store has dropped. Their IDs may be reused.
  void Forget(const std::vector<window::SeriesId>& ids);
  // Must be called when the store has dropped all samples.
  void Restart() { written_.clear(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  // Series IDs of a result's elements. Valid while the binding is unchanged.
  struct Elements {
    uint64_t binding = 0;
    std::vector<window::SeriesId> ids;
    // Index of each element in the distinct label sets, and the serial number of the last tick with
    // that label set. Empty if all label sets are distinct.
    std::vector<uint32_t> outputs;
    std::vector<uint64_t> seen;
    uint64_t serial = 0;
  };

  Status Bind(const plan::Rule& rule, const eval::Vector& result, SeriesWriter* writer);

  Elements elements_;
  std::vector<std::pair<window::SeriesId, double>> samples_;  // Collected at the current tick.
  std::vector<window::SeriesId> written_;
};

void SaveIds(const std::vector<window::SeriesId>& ids, BinaryWriter& out);
std::vector<window::SeriesId> ReadIds(BinaryReader& in);

}  // namespace pitwall::engine
