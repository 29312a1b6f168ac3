#include "services/collector/nvml.h"

#include <dlfcn.h>

#include "services/base/strings.h"

namespace pitwall::collector {
namespace {
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct MemoryBytes {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr int kTemperatureOfGpu = 0;
}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, MemoryBytes*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
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
  auto find = [&](const char* name, auto& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(nvml->library_, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find("nvmlInit_v2", f.init);
  find("nvmlShutdown", f.shutdown);
  find("nvmlErrorString", f.error_string);
  find("nvmlDeviceGetCount_v2", f.count);
  find("nvmlDeviceGetHandleByIndex_v2", f.handle);
  find("nvmlDeviceGetUtilizationRates", f.utilization);
  find("nvmlDeviceGetMemoryInfo", f.memory);
  find("nvmlDeviceGetPowerUsage", f.power);
  find("nvmlDeviceGetTemperature", f.temperature);
  if (missing != nullptr) return NotFound(Cat(library, ": it has no ", missing));
  RETURN_IF_ERROR(nvml->Check(f.init(), "nvmlInit"));
  nvml->started_ = true;
  return nvml;
}

Status Nvml::Check(int code, std::string_view what) const {
  if (code == 0) return OkStatus();
  const char* text = functions_->error_string(code);
  return Unavailable(Cat(what, ": ", text == nullptr ? "error" : text, " (", code, ")"));
}

StatusOr<uint32_t> Nvml::Count() const {
  unsigned count = 0;
  RETURN_IF_ERROR(Check(functions_->count(&count), "nvmlDeviceGetCount"));
  return static_cast<uint32_t>(count);
}

StatusOr<Nvml::Device> Nvml::Get(uint32_t index) const {
  Device device = nullptr;
  RETURN_IF_ERROR(Check(functions_->handle(index, &device), "nvmlDeviceGetHandleByIndex"));
  return device;
}

StatusOr<double> Nvml::UtilizationRatio(Device device) const {
  Utilization percent{};
  RETURN_IF_ERROR(
      Check(functions_->utilization(device, &percent), "nvmlDeviceGetUtilizationRates"));
  return percent.gpu / 100.0;
}

StatusOr<Nvml::Memory> Nvml::MemoryInfo(Device device) const {
  MemoryBytes bytes{};
  RETURN_IF_ERROR(Check(functions_->memory(device, &bytes), "nvmlDeviceGetMemoryInfo"));
  return Memory{static_cast<double>(bytes.used), static_cast<double>(bytes.total)};
}

StatusOr<double> Nvml::PowerWatts(Device device) const {
  unsigned milliwatts = 0;
  RETURN_IF_ERROR(Check(functions_->power(device, &milliwatts), "nvmlDeviceGetPowerUsage"));
  return milliwatts / 1000.0;
}

StatusOr<double> Nvml::TemperatureCelsius(Device device) const {
  unsigned degrees = 0;
  RETURN_IF_ERROR(Check(functions_->temperature(device, kTemperatureOfGpu, &degrees),
                        "nvmlDeviceGetTemperature"));
  return static_cast<double>(degrees);
}

}  // namespace pitwall::collector
