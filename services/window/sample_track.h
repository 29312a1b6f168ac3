// Every sample of one selector's series, in order of position, as far back as its demands look: for
// functions that partials cannot give (double_exponential_smoothing), and for windows of a number
// of samples, whose ends hang on each series. Reads walk the window: cost class "rescan".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/binary.h"
#include "services/model/demand.h"

namespace pitwall::window {

// Not thread-safe. Columns are those of the selector; the owner tells their number.
class SampleTrack {
 public:
  // A column keeps at most `max_samples`; a window that lacks some of its samples has no result.
  explicit SampleTrack(uint32_t max_samples) : max_samples_(max_samples) {}

  // What is kept follows the demands. ForgetDemands and AddDemand again after a change of them.
  void ForgetDemands();
  void AddDemand(const Demand& demand);

  void SetColumns(size_t columns);
  // As Track::Scatter; stale markers are samples here.
  void Scatter(int64_t position, std::span<const uint32_t> cells, std::span<const uint32_t> columns,
               const double* values);
  // One value per column. `after`: samples at or before it are not the demand's.
  void Read(const Demand& demand, int64_t tick, int64_t after, std::span<const double> arguments,
            double* values, uint8_t* present);
  // Whether the last Read met a window that lacks samples.
  bool lacked() const { return lacked_; }

  // Column i of the result was column keep[i].
  void Remap(const std::vector<uint32_t>& keep);
  void ClearColumns(const std::vector<uint32_t>& columns);
  void Reset();

  void Save(BinaryWriter& out) const;
  void Load(BinaryReader& in, size_t columns);
  size_t MemoryBytes() const;

 private:
  struct Sample {
    int64_t position;
    double value;
  };
  struct Samples {
    std::vector<Sample> list;
    uint32_t limit = 64;          // length at which it is shrunk next
    int64_t lost = kMinPosition;  // position of the newest one that was dropped for max_samples_
  };

  void Shrink(Samples* samples, int64_t position) const;

  const uint32_t max_samples_;
  int64_t keep_time_ = 0;      // positions that some demand looks back
  uint32_t keep_samples_ = 0;  // and samples, before `keep_offset_`
  int64_t keep_offset_ = 0;
  bool lacked_ = false;
  std::vector<Samples> columns_;
};

// The function of one window of samples without stale markers, in order of position, not empty;
// nothing when it has no result. Exact as the row kernels of families are.
bool ValueOfSamples(WindowFunction function, std::span<const int64_t> positions,
                    std::span<const double> values, int64_t range_start, int64_t range_end,
                    int64_t tick, std::span<const double> arguments, double* value);

}  // namespace pitwall::window
