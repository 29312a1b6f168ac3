// Dynamically loaded subset of the NVIDIA Management Library (NVML).
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

// This class declares the functions itself, so that the build does not need the NVML header. NVML
// has a stable ABI. Functions that an old driver may lack are optional; only the basic functions
// are required. Calls may block if the driver is faulty. Calls are thread-safe once the library is
// open.
//
// Errors: Unimplemented means that the driver or GPU permanently lacks support for the call.
// InvalidArgument means that the library does not recognize the request, or no longer recognizes
// the GPU. All other errors are Unavailable.
class Nvml {
 public:
  using Device = void*;

  // Loads and initializes the library. Returns NotFound if the library is missing, and Unavailable
  // if initialization fails because of a missing driver or permission.
  static StatusOr<std::unique_ptr<Nvml>> Open(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  StatusOr<uint32_t> Count() const;
  StatusOr<Device> Get(uint32_t index) const;
  StatusOr<std::string> Uuid(Device device) const;
  StatusOr<std::string> Model(Device device) const;

  // ---- Load.
  StatusOr<double> UtilizationRatio(Device device) const;
  StatusOr<std::array<double, 2>> MemoryBytes(Device device) const;  // used and total
  StatusOr<double> Processes(Device device) const;  // number of processes with a compute context

  // ---- Clocks, power, and temperature.
  enum class Clock { kSm = 1, kMemory = 2 };
  StatusOr<double> ClockHertz(Device device, Clock clock) const;
  StatusOr<double> ClockLimitHertz(Device device, Clock clock) const;
  // Returns a bit mask. Bits 0 to 8 are idle, app_setting, sw_power_cap, hw_slowdown, sync_boost,
  // sw_thermal, hw_thermal, hw_power_brake, and display.
  StatusOr<uint64_t> ClockEventReasons(Device device) const;
  StatusOr<double> PowerWatts(Device device) const;
  StatusOr<double> PowerLimitWatts(Device device) const;  // the enforced limit
  StatusOr<double> EnergyJoules(Device device) const;     // since the driver was loaded
  StatusOr<double> TemperatureCelsius(Device device) const;
  StatusOr<double> TemperatureMarginCelsius(
      Device device) const;  // margin to the slowdown temperature

  // ---- Memory errors since the driver was loaded.
  enum class EccErrors { kCorrected = 0, kUncorrected = 1 };
  enum class EccLocation { kDram = 2, kSram = 7, kAll = -1 };
  StatusOr<double> EccErrorCount(Device device, EccErrors type, EccLocation location) const;
  // Returns four numbers: the rows remapped for correctable errors, the rows remapped for
  // uncorrectable errors, 1 if a remapping is pending, and 1 if a remapping has failed.
  StatusOr<std::array<double, 4>> RemappedRows(Device device) const;

  // ---- Links.
  enum class Direction { kTransmit = 0, kReceive = 1 };
  StatusOr<double> PcieReplays(Device device) const;
  StatusOr<double> PcieGeneration(Device device) const;
  StatusOr<double> PcieGenerationLimit(Device device) const;
  StatusOr<double> PcieWidth(Device device) const;
  StatusOr<double> PcieWidthLimit(Device device) const;
  // Returns the current throughput. Blocks for 20 ms while the library measures it.
  StatusOr<double> PcieBytesPerSecond(Device device, Direction direction) const;
  StatusOr<bool> NvlinkActive(Device device, unsigned link) const;

  // Values that are available only as fields.
  enum class FieldId : uint32_t {
    kNvlinkCrcFlitErrors = 38,  // sum over all links
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
    bool wide = false;       // whether the value is 64 bits wide
    int64_t sampled_us = 0;  // time when the driver read the value; 0 if unknown
  };
  // Reads at most kMaxFields fields in one call. Returns the status of the call; each field also
  // has a separate status.
  static constexpr size_t kMaxFields = 16;
  Status ReadFields(Device device, std::span<Field> fields) const;

  // ---- Performance counters (GPM) for the GPU's units (Hopper and later), as ratios of the time
  // between two samples.
  using GpmSample = void*;
  StatusOr<bool> HasGpm(Device device) const;
  StatusOr<GpmSample> NewGpmSample() const;
  void FreeGpmSample(GpmSample sample) const;
  Status TakeGpmSample(Device device, GpmSample sample) const;
  // Returns the ratios of active SMs, active tensor pipes, and used memory bandwidth, each from 0
  // to 1.
  StatusOr<std::array<double, 3>> GpmRatios(GpmSample before, GpmSample after) const;

  // ---- XID error events.
  using EventSet = void*;
  struct Xid {
    Device device = nullptr;
    uint64_t code = 0;
  };
  StatusOr<EventSet> NewEventSet() const;
  void FreeEventSet(EventSet set) const;
  Status RegisterXids(Device device, EventSet set) const;
  // Returns the next event, or nullopt after the timeout.
  StatusOr<std::optional<Xid>> WaitForXid(EventSet set, unsigned timeout_ms) const;

 private:
  struct Functions;
  Nvml();
  Status Check(int code, std::string_view what) const;
  // Calls a function that may not exist in the library.
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
