// Series that one rule writes: the samples of a tick, and stale markers for the series that the
// tick lacks. Private to the engine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rules/alert/alert_state.h"
#include "rules/eval/vector.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/engine/recording/series_writer.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Not thread-safe. In the steady state a tick allocates nothing.
class RuleOutput {
 public:
  // Replaces the collected samples by the elements of a result. InvalidArgument: the labels of the
  // rule make two elements equal. ResourceExhausted: more than `limit` elements (0: no limit).
  Status Collect(const plan::Rule& rule, uint32_t limit, const eval::Vector& result,
                 int64_t position, SeriesWriter* writer);
  // Replaces the collected samples by ALERTS and ALERTS_FOR_STATE of the alerts.
  void CollectAlerts(const alert::AlertState& alerts, SeriesWriter* writer);
  void CollectNothing() { samples_.clear(); }
  // Writes the collected samples, and stale markers for series of the last tick that they lack.
  // Returns false if there was nothing to write.
  bool Flush(int64_t position, SeriesWriter* writer);

  // Series written at the last tick, in the order of their ids.
  const std::vector<window::SeriesId>& written() const { return written_; }
  bool Wrote(window::SeriesId id) const;
  // The series of another rule become those of this rule's last tick.
  void Inherit(RuleOutput* from) { written_ = std::move(from->written_); }

  // The store has forgotten these series (sorted); their ids may belong to others.
  void Forget(const std::vector<window::SeriesId>& ids);
  // The store has dropped all samples.
  void Restart() { written_.clear(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  // Ids of the elements of a result, valid while its binding stays.
  struct Elements {
    uint64_t binding = 0;
    std::vector<window::SeriesId> ids;
    // Index of each element among the distinct label sets, and the serial of the last tick that had
    // the label set. Empty if all label sets are distinct.
    std::vector<uint32_t> outputs;
    std::vector<uint64_t> seen;
    uint64_t serial = 0;
  };

  Status Bind(const plan::Rule& rule, const eval::Vector& result, SeriesWriter* writer);

  Elements elements_;
  std::vector<std::pair<window::SeriesId, double>> samples_;  // of this tick
  std::vector<window::SeriesId> written_;
};

void SaveIds(const std::vector<window::SeriesId>& ids, BinaryWriter& out);
std::vector<window::SeriesId> ReadIds(BinaryReader& in);

}  // namespace pitwall::engine
