// Track of the times at which each series was in a state (its value not zero), out of it, or
// unknown: stretches of time with their lengths summed up, so that the share of any window is two
// searches. All windows over one selector share them. Sums are of whole nanoseconds: nothing
// drifts, whatever comes and goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/position.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/series_track.h"

namespace pitwall::window {

class StateTrack final : public SeriesTrack {
 public:
  // A sample tells the state from its position until the next sample, for `hold` at the most; a NaN
  // or a stale marker tells that it is unknown. A column keeps at most `max_stretches`, over which
  // windows that reach further back have no result.
  StateTrack(int64_t hold, int64_t after, uint32_t max_stretches)
      : hold_(hold), after_(after), max_stretches_(max_stretches) {}

  void ForgetDemands() override { keep_ = 0; }
  void AddDemand(const Demand& demand) override;

  void SetColumns(size_t columns) override;
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values) override;
  // kShare over kTime and, for a track that is restarted with each attempt, kAttempt.
  void Read(const Demand& demand, int64_t tick, int64_t after, std::span<const double> arguments,
            double* values, uint8_t* present) override;
  bool lacked() const override { return lacked_; }

  void Remap(const std::vector<uint32_t>& keep) override;
  void ClearColumns(const std::vector<uint32_t>& columns) override;
  void Restart(int64_t after) override;

  void Save(BinaryWriter& out) const override;
  void Load(BinaryReader& in, size_t columns) override;
  size_t MemoryBytes() const override;

 private:
  // Lengths of time.
  struct Totals {
    int64_t known = 0;
    int64_t on = 0;
  };
  struct Stretch {
    int64_t begin;
    int64_t end;  // of the last one: as if no sample came any more
    bool on;
    Totals before;  // of all stretches before this one
    Totals TotalsAt(int64_t position) const;
  };
  struct Column {
    std::vector<Stretch> list;    // ascending, without overlaps
    uint32_t limit = 16;          // length at which it is shrunk next
    int64_t lost = kMinPosition;  // end of the newest one that was dropped for max_stretches_
  };

  void Add(Column& column, int64_t position, double value) const;
  void Shrink(Column& column, int64_t position) const;
  bool ShareOf(const Column& column, int64_t start, int64_t end, double* share) const;

  const int64_t hold_;
  int64_t after_;
  const uint32_t max_stretches_;
  int64_t keep_ = 0;  // positions that some demand looks back
  bool lacked_ = false;
  std::vector<Column> columns_;
};

}  // namespace pitwall::window
