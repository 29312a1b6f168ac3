// Track of the times at which each series was in a state (its value was not zero), not in the
// state, or in an unknown state. It stores stretches of time with cumulative lengths, so that
// computing the share over any window takes two searches. All windows over one selector share the
// stretches. The sums are whole nanoseconds, so they do not drift.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/series_track.h"

namespace pitwall::window {

class StateTrack final : public SeriesTrack {
 public:
  // A sample determines the state from its position until the next sample, for at most `hold`.
  // After a NaN or a stale marker, the state is unknown. A column keeps at most `max_stretches`;
  // windows that extend beyond them have no result.
  StateTrack(Duration hold, Position after, uint32_t max_stretches)
      : hold_(hold), after_(after), max_stretches_(max_stretches) {}

  void ForgetDemands() override { keep_ = Duration(); }
  void AddDemand(const Demand& demand) override;

  void SetColumns(size_t columns) override;
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values) override;
  // Computes kShare for kTime. If each attempt restarts the track, it also computes kShare for
  // kAttempt.
  void Read(const Demand& demand, Position tick, Position after, std::span<const double> arguments,
            double* values, uint8_t* present) override;
  bool incomplete() const override { return incomplete_; }

  void Remap(const std::vector<uint32_t>& keep) override;
  void Restart(Position after) override;

  void Save(BinaryWriter& out) const override;
  void Load(BinaryReader& in, size_t columns) override;
  size_t MemoryBytes() const override;

 private:
  // Cumulative duration of each state.
  struct Totals {
    Duration known;
    Duration on;
  };
  struct Stretch {
    Position begin;
    Position end;  // end of the stretch; for the last stretch, the end if no sample follows
    bool on;
    Totals before;  // totals of all earlier stretches
    Totals TotalsAt(Position position) const;
  };
  struct Column {
    std::vector<Stretch> list;  // ascending, not overlapping
    uint32_t limit = 16;        // list length at which Shrink runs next
    Position lost =
        Position::Earliest();  // end of the newest stretch dropped because of max_stretches_
  };

  void Add(Column& column, Position position, double value) const;
  void Shrink(Column& column, Position position) const;
  bool ShareOf(const Column& column, Position start, Position end, double* share) const;

  const Duration hold_;
  Position after_;
  const uint32_t max_stretches_;
  Duration keep_;  // how far back the demands look
  bool incomplete_ = false;
  std::vector<Column> columns_;
};

}  // namespace pitwall::window
