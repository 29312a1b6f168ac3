// Every sample of one selector's series in order of position, as far back as the demands require.
// The track serves functions that partials cannot compute (double_exponential_smoothing) and
// windows of N samples, whose edges differ by series. Reads scan the window, so the cost class is
// "rescan".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/series_track.h"

namespace pitwall::window {

class SampleTrack final : public SeriesTrack {
 public:
  // A column keeps at most `max_samples`. A window with missing samples has no result.
  explicit SampleTrack(uint32_t max_samples) : max_samples_(max_samples) {}

  void ForgetDemands() override;
  void AddDemand(const Demand& demand) override;

  void SetColumns(size_t columns) override;
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values) override;
  void Read(const Demand& demand, Position tick, Position after, std::span<const double> arguments,
            double* values, uint8_t* present) override;
  bool incomplete() const override { return incomplete_; }

  void Remap(const std::vector<uint32_t>& keep) override;
  void Restart(Position after) override;

  void Save(BinaryWriter& out) const override;
  void Load(BinaryReader& in, size_t columns) override;
  size_t MemoryBytes() const override;

 private:
  struct Sample {
    Position position;
    double value;
  };
  struct Samples {
    std::vector<Sample> list;
    uint32_t limit = 64;                   // list length at which Shrink runs next
    Position lost = Position::Earliest();  // newest position dropped because of max_samples_
  };

  void Shrink(Samples* samples, Position position) const;

  const uint32_t max_samples_;
  Duration keep_time_;         // how far back the demands look
  uint32_t keep_samples_ = 0;  // number of samples required at or before `keep_offset_`
  Duration keep_offset_;
  bool incomplete_ = false;
  std::vector<Samples> columns_;
  // Scratch buffers for Read.
  std::vector<int64_t> positions_;
  std::vector<double> window_;
};

// Computes the function over one non-empty window of samples without stale markers, in order of
// position. Returns false if there is no result. The result is as exact as the families' row
// kernels. `value` must have space for ValuesPerSeries values.
bool ValueOfSamples(WindowFunction function, std::span<const int64_t> positions,
                    std::span<const double> values, Position range_start, Position range_end,
                    Position tick, std::span<const double> arguments, double* value);

}  // namespace pitwall::window
