// The functions of NVIDIA's management library that are needed, found at run time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

// Our own declarations, so that nothing is needed to build: the library's ABI is stable. What an
// old driver has not may be missing, the basics aside. The calls may block while the driver is in
// trouble; once it is open, any threads may make them.
//
// Errors. Unimplemented: this driver or this GPU has no such thing and never will. InvalidArgument:
// the library does not know what was asked for, or not this GPU any more. Unavailable: all others.
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
  StatusOr<std::string> Uuid(Device device) const;
  StatusOr<std::string> Model(Device device) const;

  // Load.
  StatusOr<double> UtilizationRatio(Device device) const;
  StatusOr<std::array<double, 2>> MemoryBytes(Device device) const;  // used, total
  StatusOr<double> Processes(Device device) const;                   // with a compute context

  // Clocks, power, temperature.
  enum class Clock { kSm = 1, kMemory = 2 };
  StatusOr<double> ClockHertz(Device device, Clock clock) const;
  StatusOr<double> ClockLimitHertz(Device device, Clock clock) const;
  // Bits 0 to 8: idle, app_setting, sw_power_cap, hw_slowdown, sync_boost, sw_thermal, hw_thermal,
  // hw_power_brake, display.
  StatusOr<uint64_t> ClockEventReasons(Device device) const;
  StatusOr<double> PowerWatts(Device device) const;
  StatusOr<double> PowerLimitWatts(Device device) const;  // the one that is enforced
  StatusOr<double> EnergyJoules(Device device) const;     // since the driver was loaded
  StatusOr<double> TemperatureCelsius(Device device) const;
  StatusOr<double> TemperatureMarginCelsius(Device device) const;  // until it slows down

  // Faults of the memory, since the driver was loaded.
  enum class EccErrors { kCorrected = 0, kUncorrected = 1 };
  enum class EccLocation { kDram = 2, kSram = 7, kAll = -1 };
  StatusOr<double> EccErrorCount(Device device, EccErrors type, EccLocation location) const;
  // Rows remapped for correctable and for uncorrectable errors; 1 if pending; 1 if failed.
  StatusOr<std::array<double, 4>> RemappedRows(Device device) const;

  // Links.
  enum class Direction { kTransmit = 0, kReceive = 1 };
  StatusOr<double> PcieReplays(Device device) const;
  StatusOr<double> PcieGeneration(Device device) const;
  StatusOr<double> PcieGenerationLimit(Device device) const;
  StatusOr<double> PcieWidth(Device device) const;
  StatusOr<double> PcieWidthLimit(Device device) const;
  // The library measures for 20 ms, and the caller waits.
  StatusOr<double> PcieBytesPerSecond(Device device, Direction direction) const;
  StatusOr<bool> NvlinkActive(Device device, unsigned link) const;

  // Numbers that have no function of their own.
  enum class FieldId : uint32_t {
    kNvlinkCrcFlitErrors = 38,  // of all links
    kNvlinkCrcDataErrors = 45,
    kNvlinkReplayErrors = 52,
    kNvlinkRecoveryErrors = 59,
    kMemoryTemperature = 82,  // degrees Celsius
    kNvlinks = 91,
    kNvlinkTransmit = 138,  // payload in KiB, since the driver was loaded
    kNvlinkReceive = 139,
    kPcieTransmit = 197,  // bytes, since the driver was loaded
    kPcieReceive = 198,
  };
  struct Field {
    FieldId id{};
    StatusOr<double> value = 0.0;
    bool wide = false;       // it has 64 bits
    int64_t sampled_us = 0;  // when the driver took it; 0 if it does not say
  };
  // At most kMaxFields of them in one call. The status is that of the call, each field has its own.
  static constexpr size_t kMaxFields = 16;
  Status ReadFields(Device device, std::span<Field> fields) const;

  // Counters of the GPU's units (Hopper and later): shares of the time between two samples.
  using GpmSample = void*;
  StatusOr<bool> HasGpm(Device device) const;
  StatusOr<GpmSample> NewGpmSample() const;
  void FreeGpmSample(GpmSample sample) const;
  Status TakeGpmSample(Device device, GpmSample sample) const;
  // SMs with work, tensor pipes active, device memory's bandwidth used; 0 to 1 each.
  StatusOr<std::array<double, 3>> GpmRatios(GpmSample before, GpmSample after) const;

  // XID errors as they come.
  using EventSet = void*;
  struct Xid {
    Device device = nullptr;
    uint64_t code = 0;
  };
  StatusOr<EventSet> NewEventSet() const;
  void FreeEventSet(EventSet set) const;
  Status RegisterXids(Device device, EventSet set) const;
  // The next one; nothing when none came in time.
  StatusOr<std::optional<Xid>> WaitForXid(EventSet set, unsigned timeout_ms) const;

 private:
  struct Functions;
  Nvml();
  Status Check(int code, std::string_view what) const;
  // Calls a function that may be missing.
  template <typename Function, typename... Arguments>
  Status Call(Function function, std::string_view what, Arguments... arguments) const;
  template <typename Function, typename... Arguments>
  StatusOr<double> Number(Function function, std::string_view what, double unit, Device device,
                          Arguments... arguments) const;

  void* library_ = nullptr;
  bool started_ = false;
  std::unique_ptr<Functions> functions_;
};

}  // namespace pitwall::collector
