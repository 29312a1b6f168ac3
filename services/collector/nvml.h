// The few functions of NVIDIA's management library that are needed, found at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// Our own declarations, so that nothing is needed to build: the library's ABI is stable. The calls
// may block while the driver is in trouble. Not thread-safe.
class Nvml {
 public:
  using Device = void*;

  // NotFound: no such library; Unavailable: it would not start (no driver, no rights).
  static StatusOr<std::unique_ptr<Nvml>> Open(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  StatusOr<uint32_t> Count() const;
  StatusOr<Device> Get(uint32_t index) const;
  StatusOr<double> UtilizationRatio(Device device) const;
  struct Memory {
    double used_bytes = 0;
    double total_bytes = 0;
  };
  StatusOr<Memory> MemoryInfo(Device device) const;
  StatusOr<double> PowerWatts(Device device) const;
  StatusOr<double> TemperatureCelsius(Device device) const;

 private:
  struct Functions;
  Nvml();
  Status Check(int code, std::string_view what) const;

  void* library_ = nullptr;
  bool started_ = false;
  std::unique_ptr<Functions> functions_;
};

}  // namespace pitwall::collector
