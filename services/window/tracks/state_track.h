// Track of the times at which each series was in a state (its value was not zero), not in the
// state, or in an unknown state. It stores stretches of time with cumulative lengths, so that
// computing the share over any window takes two searches. All windows over one selector share the
// stretches. The sums are whole nanoseconds, so they do not drift.
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
  // A sample determines the state from its position until the next sample, for at most `hold`.
  // After a NaN or a stale marker, the state is unknown. A column keeps at most `max_stretches`;
  // windows that extend beyond them have no result.
  StateTrack(int64_t hold, int64_t after, uint32_t max_stretches)
      : hold_(hold), after_(after), max_stretches_(max_stretches) {}

  void ForgetDemands() override { keep_ = 0; }
  void AddDemand(const Demand& demand) override;

  void SetColumns(size_t columns) override;
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values) override;
  // Computes kShare for kTime. If each attempt restarts the track, it also computes kShare for
  // kAttempt.
  void Read(const Demand& demand, int64_t tick, int64_t after, std::span<const double> arguments,
            double* values, uint8_t* present) override;
  bool incomplete() const override { return incomplete_; }

  void Remap(const std::vector<uint32_t>& keep) override;
  void Restart(int64_t after) override;

  void Save(BinaryWriter& out) const override;
  void Load(BinaryReader& in, size_t columns) override;
  size_t MemoryBytes() const override;

 private:
  // Cumulative duration of each state.
  struct Totals {
    int64_t known = 0;
    int64_t on = 0;
  };
  struct Stretch {
    int64_t begin;
    int64_t end;  // end of the stretch; for the last stretch, the end if no sample follows
    bool on;
    Totals before;  // totals of all earlier stretches
    Totals TotalsAt(int64_t position) const;
  };
  struct Column {
    std::vector<Stretch> list;    // ascending, not overlapping
    uint32_t limit = 16;          // list length at which Shrink runs next
    int64_t lost = kMinPosition;  // end of the newest stretch dropped because of max_stretches_
  };

  void Add(Column& column, int64_t position, double value) const;
  void Shrink(Column& column, int64_t position) const;
  bool ShareOf(const Column& column, int64_t start, int64_t end, double* share) const;

  const int64_t hold_;
  int64_t after_;
  const uint32_t max_stretches_;
  int64_t keep_ = 0;  // how far back in positions the demands look
  bool incomplete_ = false;
  std::vector<Column> columns_;
};

}  // namespace pitwall::window
