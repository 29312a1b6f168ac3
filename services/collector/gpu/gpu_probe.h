// All that is asked of one GPU, and what of it there is.
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
  std::vector<std::pair<std::string, std::string>> labels;  // node and gpu aside
};
struct GpuRows {
  std::shared_ptr<const std::vector<GpuSeries>> series;  // another one when they are others
  std::vector<double> values;                            // one each; missing where reading failed
};

// Readings that change fast are taken by each Read, others once a second or every five: they cost
// as much. What the GPU or its driver has not (Nvml says so) is never asked again and has no
// series. Not thread-safe.
class GpuProbe {
 public:
  // The library is borrowed.
  GpuProbe(const Nvml* nvml, uint32_t index);
  ~GpuProbe();
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // `now_ns`: monotonic. Returns how many readings failed.
  uint64_t Read(int64_t now_ns);
  const GpuRows& rows() const { return rows_; }

  // Names of the series there can be, sorted.
  static std::vector<std::string_view> Names();

 private:
  enum class Has : uint8_t { kUnknown, kYes, kNo };
  static constexpr size_t kRows = 51;  // series there can be
  struct Pcie {                        // what the counters of the link said last
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
  bool gpm_taken_ = false;  // gpm_before_ is filled
  bool arranged_ = false;   // rows_ has the series that has_ says
  GpuRows rows_;
};

}  // namespace pitwall::collector
