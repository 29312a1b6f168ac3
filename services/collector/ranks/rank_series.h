// Series for one rank, built from its client's updates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/codec/steps/step_series.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/ranks/update_progress.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// The rank's per-step series and step modes. Repeats the schemas every 5 s, and counts dropped
// spans and values. Owned by the socket thread.
class RankSeries {
 public:
  // The caller owns the counters.
  RankSeries(const steps::Options& options, Counters* counters)
      : counters_(counters), series_(options) {}

  // Adds a valid update that `progress` has received, and publishes it with the promise of `batch`:
  // appends the spans, the step promises, and the complete rows. Drops in a replayed update are not
  // counted again.
  void Add(const client::v1::Update& update, UpdateProgress* progress, Batch* batch);
  // Appends all remaining rows at the end of the rank.
  void Finish(Batch* batch);

  // Returns the sorted step modes. At most 16 modes are kept.
  const std::vector<std::string>& step_modes() const { return step_modes_; }

 private:
  void AddParts(const client::v1::Update& update, UpdateProgress* progress, Batch* batch);
  void AddMode(const std::string& mode);
  void CountDrops();

  Counters* const counters_;
  steps::StepSeries series_;
  std::vector<std::string> step_modes_;
  int64_t schemas_sent_ns_ = 0;  // promise of the last batch that repeated the schemas
  std::array<uint64_t, steps::kDrops> drops_{};
};

}  // namespace pitwall::collector
