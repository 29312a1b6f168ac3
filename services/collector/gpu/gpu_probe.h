// Readings from one GPU, and their availability.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/collector/gpu/nvml.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

struct GpuSeries {
  SeriesKind kind = SeriesKind::kGauge;
  std::string_view name;
  std::vector<std::pair<std::string, std::string>> labels;  // labels other than node and gpu
};
struct GpuRows {
  std::shared_ptr<const std::vector<GpuSeries>> series;  // replaced when the set of series changes
  std::vector<double> values;  // one value per series; missing if the reading failed
};

// The fast-changing values are read on every call to Read. Other values are read every second or
// every five seconds, because they change more slowly and cost just as much to read. A reading that
// the GPU or its driver does not support, according to Nvml, is not retried and has no series. Not
// thread-safe.
class GpuProbe {
 public:
  // The caller owns the library.
  GpuProbe(const Nvml* nvml, uint32_t index);
  ~GpuProbe();
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // Takes the readings that are due at `now_ns` (monotonic) and returns the number of failures.
  uint64_t Read(int64_t now_ns);
  const GpuRows& rows() const { return rows_; }

  // Returns the sorted names of all possible series.
  static std::vector<std::string_view> Names();

 private:
  enum class Has : uint8_t { kUnknown, kYes, kNo };
  static constexpr size_t kRows = 51;  // number of possible series
  struct Pcie {                        // last values of the PCIe byte counters
    bool by_counters = true;
    std::optional<std::array<double, 2>> bytes;
    double seconds = 0;
  };

  bool Wanted(size_t row) const { return has_[row] != Has::kNo; }
  void Took(size_t first, size_t count, const Status& status, const double* values);
  void Take(size_t row, const StatusOr<double>& read);
  template <size_t kCount>
  void Take(size_t first, const StatusOr<std::array<double, kCount>>& read);
  void ReadFast();
  void ReadEachSecond();
  void ReadSlow(int64_t now_ns);
  void ReadIdentity();
  void ReadClockEvents();
  void ReadGpm();
  void ReadFields(int64_t now_ns);
  void ReadNvlinks();
  void ReadPcieCounters(const Nvml::Field& transmit, const Nvml::Field& receive, int64_t now_ns);
  void Arrange();

  const Nvml& nvml_;
  const uint32_t index_;
  Nvml::Device device_ = nullptr;
  int64_t next_second_ns_ = 0;
  int64_t next_slow_ns_ = 0;
  bool begun_ = false;
  uint64_t errors_ = 0;
  std::array<double, kRows> values_{};
  std::array<Has, kRows> has_{};
  std::string uuid_;
  std::string model_;
  Pcie pcie_;
  std::optional<bool> gpm_;
  Nvml::GpmSample gpm_before_ = nullptr;
  Nvml::GpmSample gpm_after_ = nullptr;
  bool gpm_taken_ = false;  // whether gpm_before_ is set
  bool arranged_ = false;   // whether rows_ has the series selected by has_
  GpuRows rows_;
};

}  // namespace pitwall::collector
