#include "services/collector/gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

// NVML return codes.
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr int kTimeout = 10;
constexpr int kFunctionNotFound = 13;
constexpr int kDeprecated = 26;

constexpr int kTemperatureOfGpu = 0;
constexpr int kSinceDriverLoad = 0;  // selects the "volatile" ECC error counters
constexpr unsigned kTextSize = 96;
constexpr uint32_t kAllLinks = 0xffffffff;
constexpr unsigned long long kXidEvents = 8;
constexpr double kHertz = 1e6;  // hertz per MHz
constexpr double kMilli = 1e-3;
constexpr double kKilobytes = 1e3;
constexpr double kKibibytes = 1024;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct MarginTemperature {
  unsigned version;
  int celsius;
};
constexpr unsigned kMarginVersion = 1u << 24 | sizeof(MarginTemperature);

struct FieldValue {
  uint32_t id;
  uint32_t scope;
  int64_t timestamp_us;
  int64_t latency_us;
  int type;
  int code;
  union {
    double real;
    unsigned u32;
    unsigned long ulong;
    unsigned long long u64;
    long long s64;
    int s32;
    unsigned short u16;
  } value;
};
enum FieldType { kReal, kU32, kUlong, kU64, kS64, kS32, kU16 };

struct EventData {
  void* device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct GpmSupport {
  unsigned version;
  unsigned supported;
};
struct GpmMetric {
  unsigned id;
  int code;
  double value;
  const char* texts[3];
};
// The library supports more than 100 metrics, and each version adds more. It reads only `count` of
// them but requires memory for all of them.
struct GpmMetrics {
  unsigned version;
  unsigned count;
  void* before;
  void* after;
  GpmMetric metrics[1024];
};
constexpr unsigned kGpmVersion = 1;
constexpr std::array<unsigned, 3> kGpmMetrics = {2, 5,
                                                 10};  // SM, any tensor, and DRAM bandwidth, in %

double NumberOf(const FieldValue& field) {
  switch (field.type) {
    case kReal:
      return field.value.real;
    case kU32:
      return field.value.u32;
    case kUlong:
      return static_cast<double>(field.value.ulong);
    case kU64:
      return static_cast<double>(field.value.u64);
    case kS64:
      return static_cast<double>(field.value.s64);
    case kS32:
      return field.value.s32;
    default:
      return field.value.u16;
  }
}

double UnitOf(Nvml::FieldId id) {
  const bool kib = id == Nvml::FieldId::kNvlinkTransmit || id == Nvml::FieldId::kNvlinkReceive;
  return kib ? kKibibytes : 1;
}

}  // namespace

struct Nvml::Functions {
  using OfDevice = int (*)(Device, unsigned*);
  using TextOfDevice = int (*)(Device, char*, unsigned);
  // These functions are required.
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, MemoryInfo*) = nullptr;
  OfDevice power = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  // These functions are optional.
  TextOfDevice uuid = nullptr;
  TextOfDevice name = nullptr;
  int (*processes)(Device, unsigned*, void*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*clock_limit)(Device, int, unsigned*) = nullptr;
  int (*clock_reasons)(Device, unsigned long long*) = nullptr;
  OfDevice power_limit = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*temperature_margin)(Device, MarginTemperature*) = nullptr;
  int (*ecc_total)(Device, int, int, unsigned long long*) = nullptr;
  int (*ecc)(Device, int, int, int, unsigned long long*) = nullptr;
  int (*remapped)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  OfDevice pcie_replays = nullptr;
  OfDevice pcie_generation = nullptr;
  OfDevice pcie_generation_limit = nullptr;
  OfDevice pcie_width = nullptr;
  OfDevice pcie_width_limit = nullptr;
  int (*pcie_throughput)(Device, int, unsigned*) = nullptr;
  int (*nvlink_state)(Device, unsigned, unsigned*) = nullptr;
  int (*fields)(Device, int, FieldValue*) = nullptr;
  int (*gpm_support)(Device, GpmSupport*) = nullptr;
  int (*gpm_alloc)(GpmSample*) = nullptr;
  int (*gpm_free)(GpmSample) = nullptr;
  int (*gpm_take)(Device, GpmSample) = nullptr;
  int (*gpm_metrics)(GpmMetrics*) = nullptr;
  int (*event_set)(EventSet*) = nullptr;
  int (*event_free)(EventSet) = nullptr;
  int (*event_register)(Device, unsigned long long, EventSet) = nullptr;
  int (*event_wait)(EventSet, EventData*, unsigned) = nullptr;
};

Nvml::Nvml() : functions_(std::make_unique<Functions>()) {}

Nvml::~Nvml() {
  if (started_) functions_->shutdown();
  if (library_ != nullptr) dlclose(library_);
}

StatusOr<std::unique_ptr<Nvml>> Nvml::Open(const std::string& library) {
  std::unique_ptr<Nvml> nvml(new Nvml());
  nvml->library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) {
    const char* why = dlerror();
    return NotFound(why == nullptr ? library : why);
  }
  Functions& f = *nvml->functions_;
  const char* missing = nullptr;
  // Resolves the first available symbol in `names`, ordered from newest to oldest version.
  auto find = [&](auto& function, auto... names) {
    for (const char* name : {names...}) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(nvml->library_, name));
      if (function != nullptr) return;
    }
  };
  auto need = [&](auto& function, const char* name) {
    find(function, name);
    if (function == nullptr && missing == nullptr) missing = name;
  };
  need(f.init, "nvmlInit_v2");
  need(f.shutdown, "nvmlShutdown");
  need(f.error_string, "nvmlErrorString");
  need(f.count, "nvmlDeviceGetCount_v2");
  need(f.handle, "nvmlDeviceGetHandleByIndex_v2");
  need(f.utilization, "nvmlDeviceGetUtilizationRates");
  need(f.memory, "nvmlDeviceGetMemoryInfo");
  need(f.power, "nvmlDeviceGetPowerUsage");
  need(f.temperature, "nvmlDeviceGetTemperature");
  if (missing != nullptr) return NotFound(Cat(library, ": symbol ", missing, " is missing"));
  find(f.uuid, "nvmlDeviceGetUUID");
  find(f.name, "nvmlDeviceGetName");
  // All versions behave the same if only the count is requested.
  find(f.processes, "nvmlDeviceGetComputeRunningProcesses_v3",
       "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses");
  find(f.clock, "nvmlDeviceGetClockInfo");
  find(f.clock_limit, "nvmlDeviceGetMaxClockInfo");
  find(f.clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons",
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(f.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(f.energy, "nvmlDeviceGetTotalEnergyConsumption");
  find(f.temperature_margin, "nvmlDeviceGetMarginTemperature");
  find(f.ecc_total, "nvmlDeviceGetTotalEccErrors");
  find(f.ecc, "nvmlDeviceGetMemoryErrorCounter");
  find(f.remapped, "nvmlDeviceGetRemappedRows");
  find(f.pcie_replays, "nvmlDeviceGetPcieReplayCounter");
  find(f.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(f.pcie_generation_limit, "nvmlDeviceGetMaxPcieLinkGeneration");
  find(f.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(f.pcie_width_limit, "nvmlDeviceGetMaxPcieLinkWidth");
  find(f.pcie_throughput, "nvmlDeviceGetPcieThroughput");
  find(f.nvlink_state, "nvmlDeviceGetNvLinkState");
  find(f.fields, "nvmlDeviceGetFieldValues");
  find(f.gpm_support, "nvmlGpmQueryDeviceSupport");
  find(f.gpm_alloc, "nvmlGpmSampleAlloc");
  find(f.gpm_free, "nvmlGpmSampleFree");
  find(f.gpm_take, "nvmlGpmSampleGet");
  find(f.gpm_metrics, "nvmlGpmMetricsGet");
  find(f.event_set, "nvmlEventSetCreate");
  find(f.event_free, "nvmlEventSetFree");
  find(f.event_register, "nvmlDeviceRegisterEvents");
  find(f.event_wait, "nvmlEventSetWait_v2");
  RETURN_IF_ERROR(nvml->Check(f.init(), "nvmlInit"));
  nvml->started_ = true;
  return nvml;
}

Status Nvml::Check(int code, std::string_view what) const {
  if (code == 0) return OkStatus();
  const char* text = functions_->error_string(code);
  const std::string message = Cat(what, ": ", text == nullptr ? "error" : text, " (", code, ")");
  switch (code) {
    case kInvalidArgument:
      return InvalidArgument(message);
    case kNotSupported:
    case kFunctionNotFound:
    case kDeprecated:
      return Unimplemented(message);
    default:
      return Unavailable(message);
  }
}

template <typename Function, typename... Arguments>
Status Nvml::Call(Function function, std::string_view what, Arguments... arguments) const {
  if (function == nullptr) return Unimplemented(Cat("the driver does not support ", what));
  return Check(function(arguments...), what);
}

template <typename Function, typename... Arguments>
StatusOr<double> Nvml::Number(Function function, std::string_view what, double unit, Device device,
                              Arguments... arguments) const {
  unsigned number = 0;
  RETURN_IF_ERROR(Call(function, what, device, arguments..., &number));
  return number * unit;
}

StatusOr<uint32_t> Nvml::Count() const {
  unsigned count = 0;
  RETURN_IF_ERROR(Call(functions_->count, "nvmlDeviceGetCount", &count));
  return static_cast<uint32_t>(count);
}

StatusOr<Nvml::Device> Nvml::Get(uint32_t index) const {
  Device device = nullptr;
  RETURN_IF_ERROR(Call(functions_->handle, "nvmlDeviceGetHandleByIndex", index, &device));
  return device;
}

StatusOr<std::string> Nvml::Uuid(Device device) const {
  std::array<char, kTextSize> text{};
  RETURN_IF_ERROR(Call(functions_->uuid, "nvmlDeviceGetUUID", device, text.data(), kTextSize - 1));
  return std::string(text.data());
}

StatusOr<std::string> Nvml::Model(Device device) const {
  std::array<char, kTextSize> text{};
  RETURN_IF_ERROR(Call(functions_->name, "nvmlDeviceGetName", device, text.data(), kTextSize - 1));
  return std::string(text.data());
}

StatusOr<double> Nvml::UtilizationRatio(Device device) const {
  Utilization percent{};
  RETURN_IF_ERROR(Call(functions_->utilization, "nvmlDeviceGetUtilizationRates", device, &percent));
  return percent.gpu / 100.0;
}

StatusOr<std::array<double, 2>> Nvml::MemoryBytes(Device device) const {
  MemoryInfo bytes{};
  RETURN_IF_ERROR(Call(functions_->memory, "nvmlDeviceGetMemoryInfo", device, &bytes));
  return std::array{static_cast<double>(bytes.used), static_cast<double>(bytes.total)};
}

StatusOr<double> Nvml::Processes(Device device) const {
  constexpr std::string_view kWhat = "nvmlDeviceGetComputeRunningProcesses";
  if (functions_->processes == nullptr)
    return Unimplemented(Cat("the driver does not support ", kWhat));
  // If there is no output buffer, the call only returns the count.
  unsigned count = 0;
  const int code = functions_->processes(device, &count, nullptr);
  if (code != kInsufficientSize) RETURN_IF_ERROR(Check(code, kWhat));
  return static_cast<double>(count);
}

StatusOr<double> Nvml::ClockHertz(Device device, Clock clock) const {
  return Number(functions_->clock, "nvmlDeviceGetClockInfo", kHertz, device,
                static_cast<int>(clock));
}

StatusOr<double> Nvml::ClockLimitHertz(Device device, Clock clock) const {
  return Number(functions_->clock_limit, "nvmlDeviceGetMaxClockInfo", kHertz, device,
                static_cast<int>(clock));
}

StatusOr<uint64_t> Nvml::ClockEventReasons(Device device) const {
  unsigned long long bits = 0;
  RETURN_IF_ERROR(
      Call(functions_->clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons", device, &bits));
  return static_cast<uint64_t>(bits);
}

StatusOr<double> Nvml::PowerWatts(Device device) const {
  return Number(functions_->power, "nvmlDeviceGetPowerUsage", kMilli, device);
}

StatusOr<double> Nvml::PowerLimitWatts(Device device) const {
  return Number(functions_->power_limit, "nvmlDeviceGetEnforcedPowerLimit", kMilli, device);
}

StatusOr<double> Nvml::EnergyJoules(Device device) const {
  unsigned long long millijoules = 0;
  RETURN_IF_ERROR(
      Call(functions_->energy, "nvmlDeviceGetTotalEnergyConsumption", device, &millijoules));
  return static_cast<double>(millijoules) * kMilli;
}

StatusOr<double> Nvml::TemperatureCelsius(Device device) const {
  return Number(functions_->temperature, "nvmlDeviceGetTemperature", 1, device, kTemperatureOfGpu);
}

StatusOr<double> Nvml::TemperatureMarginCelsius(Device device) const {
  MarginTemperature margin{kMarginVersion, 0};
  RETURN_IF_ERROR(
      Call(functions_->temperature_margin, "nvmlDeviceGetMarginTemperature", device, &margin));
  return static_cast<double>(margin.celsius);
}

StatusOr<double> Nvml::EccErrorCount(Device device, EccErrors type, EccLocation location) const {
  unsigned long long count = 0;
  if (location == EccLocation::kAll) {
    RETURN_IF_ERROR(Call(functions_->ecc_total, "nvmlDeviceGetTotalEccErrors", device,
                         static_cast<int>(type), kSinceDriverLoad, &count));
  } else {
    RETURN_IF_ERROR(Call(functions_->ecc, "nvmlDeviceGetMemoryErrorCounter", device,
                         static_cast<int>(type), kSinceDriverLoad, static_cast<int>(location),
                         &count));
  }
  return static_cast<double>(count);
}

StatusOr<std::array<double, 4>> Nvml::RemappedRows(Device device) const {
  std::array<unsigned, 4> n{};
  RETURN_IF_ERROR(
      Call(functions_->remapped, "nvmlDeviceGetRemappedRows", device, &n[0], &n[1], &n[2], &n[3]));
  return std::array<double, 4>{double(n[0]), double(n[1]), double(n[2]), double(n[3])};
}

StatusOr<double> Nvml::PcieReplays(Device device) const {
  return Number(functions_->pcie_replays, "nvmlDeviceGetPcieReplayCounter", 1, device);
}

StatusOr<double> Nvml::PcieGeneration(Device device) const {
  return Number(functions_->pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", 1, device);
}

StatusOr<double> Nvml::PcieGenerationLimit(Device device) const {
  return Number(functions_->pcie_generation_limit, "nvmlDeviceGetMaxPcieLinkGeneration", 1, device);
}

StatusOr<double> Nvml::PcieWidth(Device device) const {
  return Number(functions_->pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", 1, device);
}

StatusOr<double> Nvml::PcieWidthLimit(Device device) const {
  return Number(functions_->pcie_width_limit, "nvmlDeviceGetMaxPcieLinkWidth", 1, device);
}

StatusOr<double> Nvml::PcieBytesPerSecond(Device device, Direction direction) const {
  return Number(functions_->pcie_throughput, "nvmlDeviceGetPcieThroughput", kKilobytes, device,
                static_cast<int>(direction));
}

StatusOr<bool> Nvml::NvlinkActive(Device device, unsigned link) const {
  unsigned active = 0;
  RETURN_IF_ERROR(
      Call(functions_->nvlink_state, "nvmlDeviceGetNvLinkState", device, link, &active));
  return active == 1;
}

Status Nvml::ReadFields(Device device, std::span<Field> fields) const {
  std::array<FieldValue, kMaxFields> values{};
  const size_t count = std::min(fields.size(), kMaxFields);
  for (size_t i = 0; i < count; ++i) {
    values[i].id = static_cast<uint32_t>(fields[i].id);
    values[i].scope = UnitOf(fields[i].id) == kKibibytes ? kAllLinks : 0;
  }
  RETURN_IF_ERROR(Call(functions_->fields, "nvmlDeviceGetFieldValues", device,
                       static_cast<int>(count), values.data()));
  for (size_t i = 0; i < count; ++i) {
    fields[i].value = NumberOf(values[i]) * UnitOf(fields[i].id);
    if (values[i].code != 0) fields[i].value = Check(values[i].code, Cat("field ", values[i].id));
    const int type = values[i].type;
    fields[i].wide = type == kU64 || type == kS64 || (type == kUlong && sizeof(long) == 8);
    fields[i].sampled_us = values[i].timestamp_us;
  }
  return OkStatus();
}

StatusOr<bool> Nvml::HasGpm(Device device) const {
  const Functions& f = *functions_;
  if (f.gpm_alloc == nullptr || f.gpm_free == nullptr || f.gpm_take == nullptr ||
      f.gpm_metrics == nullptr)
    return false;
  GpmSupport support{kGpmVersion, 0};
  RETURN_IF_ERROR(Call(f.gpm_support, "nvmlGpmQueryDeviceSupport", device, &support));
  return support.supported == 1;
}

StatusOr<Nvml::GpmSample> Nvml::NewGpmSample() const {
  GpmSample sample = nullptr;
  RETURN_IF_ERROR(Call(functions_->gpm_alloc, "nvmlGpmSampleAlloc", &sample));
  return sample;
}

void Nvml::FreeGpmSample(GpmSample sample) const {
  if (sample != nullptr) functions_->gpm_free(sample);
}

Status Nvml::TakeGpmSample(Device device, GpmSample sample) const {
  return Call(functions_->gpm_take, "nvmlGpmSampleGet", device, sample);
}

StatusOr<std::array<double, 3>> Nvml::GpmRatios(GpmSample before, GpmSample after) const {
  const auto get = std::make_unique<GpmMetrics>();
  get->version = kGpmVersion;
  get->count = kGpmMetrics.size();
  get->before = before;
  get->after = after;
  for (size_t i = 0; i < kGpmMetrics.size(); ++i) get->metrics[i].id = kGpmMetrics[i];
  RETURN_IF_ERROR(Call(functions_->gpm_metrics, "nvmlGpmMetricsGet", get.get()));
  std::array<double, 3> ratios{};
  for (size_t i = 0; i < ratios.size(); ++i) {
    RETURN_IF_ERROR(Check(get->metrics[i].code, Cat("GPM metric ", kGpmMetrics[i])));
    ratios[i] = get->metrics[i].value / 100;
  }
  return ratios;
}

StatusOr<Nvml::EventSet> Nvml::NewEventSet() const {
  const Functions& f = *functions_;
  if (f.event_free == nullptr || f.event_register == nullptr || f.event_wait == nullptr)
    return Unimplemented("the driver does not support events");
  EventSet set = nullptr;
  RETURN_IF_ERROR(Call(f.event_set, "nvmlEventSetCreate", &set));
  return set;
}

void Nvml::FreeEventSet(EventSet set) const { functions_->event_free(set); }

Status Nvml::RegisterXids(Device device, EventSet set) const {
  return Call(functions_->event_register, "nvmlDeviceRegisterEvents", device, kXidEvents, set);
}

StatusOr<std::optional<Nvml::Xid>> Nvml::WaitForXid(EventSet set, unsigned timeout_ms) const {
  EventData event{};
  const int code = functions_->event_wait(set, &event, timeout_ms);
  if (code == kTimeout) return std::optional<Xid>();
  RETURN_IF_ERROR(Check(code, "nvmlEventSetWait"));
  if ((event.type & kXidEvents) == 0) return std::optional<Xid>();
  return std::optional<Xid>({event.device, event.data});
}

}  // namespace pitwall::collector
