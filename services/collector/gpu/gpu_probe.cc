#include "services/collector/gpu/gpu_probe.h"

#include <algorithm>

#include "services/base/clock.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kSlowNs = 5 * kNanosPerSecond;
constexpr uint32_t kTurns = 8;  // slow readings from different GPUs are taken at different times
constexpr double kMaxNvlinks = 64;

struct RowInfo {
  SeriesKind kind;
  std::string_view name;
  std::string_view label = {};
  std::string_view value = {};
  std::string_view label2 = {};
  std::string_view value2 = {};
};
constexpr SeriesKind kGauge = SeriesKind::kGauge;
constexpr SeriesKind kCounter = SeriesKind::kCounter;

enum Row : size_t {
  kUtilization,
  kMemory,  // used, total
  kPower = kMemory + 2,
  kTemperature,
  kInfo,
  kProcesses,
  kGpm,  // SM, tensor, DRAM
  kSmClock = kGpm + 3,
  kSmClockLimit,
  kMemoryClock,
  kReason,  // nine reasons
  kPowerLimit = kReason + 9,
  kEnergy,
  kMemoryTemperature,
  kTemperatureMargin,
  kEcc,  // corrected and uncorrected, each for SRAM, DRAM, and all
  kRemap = kEcc + 6,
  kPcieReplays = kRemap + 4,
  kPcieGeneration,
  kPcieGenerationLimit,
  kPcieWidth,
  kPcieWidthLimit,
  kPcieBytes,  // transmit, receive
  kNvlinks = kPcieBytes + 2,
  kNvlinksActive,
  kNvlinkBytes,                      // transmit, receive
  kNvlinkErrors = kNvlinkBytes + 2,  // crc_flit, crc_data, replay, recovery
  kEnd = kNvlinkErrors + 4,
};

// Information about each row, in the order of Row.
constexpr RowInfo kTable[] = {
    {kGauge, "hw_gpu_utilization_ratio"},
    {kGauge, "hw_gpu_memory_usage_bytes"},
    {kGauge, "hw_gpu_memory_limit_bytes"},
    {kGauge, "hw_power_watts"},
    {kGauge, "hw_temperature_celsius"},
    {kGauge, "gpu_info"},
    {kGauge, "gpu_processes"},
    {kGauge, "gpu_sm_active_ratio"},
    {kGauge, "gpu_tensor_active_ratio"},
    {kGauge, "gpu_dram_active_ratio"},
    {kGauge, "gpu_clock_sm_hertz"},
    {kGauge, "gpu_clock_sm_limit_hertz"},
    {kGauge, "gpu_clock_memory_hertz"},
    {kGauge, "gpu_clock_event_state", "reason", "idle"},
    {kGauge, "gpu_clock_event_state", "reason", "app_setting"},
    {kGauge, "gpu_clock_event_state", "reason", "sw_power_cap"},
    {kGauge, "gpu_clock_event_state", "reason", "hw_slowdown"},
    {kGauge, "gpu_clock_event_state", "reason", "sync_boost"},
    {kGauge, "gpu_clock_event_state", "reason", "sw_thermal"},
    {kGauge, "gpu_clock_event_state", "reason", "hw_thermal"},
    {kGauge, "gpu_clock_event_state", "reason", "hw_power_brake"},
    {kGauge, "gpu_clock_event_state", "reason", "display"},
    {kGauge, "gpu_power_limit_watts"},
    {kCounter, "gpu_energy_joules_total"},
    {kGauge, "gpu_memory_temperature_celsius"},
    {kGauge, "gpu_temperature_margin_celsius"},
    {kCounter, "gpu_ecc_errors_total", "type", "corrected", "location", "sram"},
    {kCounter, "gpu_ecc_errors_total", "type", "corrected", "location", "dram"},
    {kCounter, "gpu_ecc_errors_total", "type", "corrected", "location", "all"},
    {kCounter, "gpu_ecc_errors_total", "type", "uncorrected", "location", "sram"},
    {kCounter, "gpu_ecc_errors_total", "type", "uncorrected", "location", "dram"},
    {kCounter, "gpu_ecc_errors_total", "type", "uncorrected", "location", "all"},
    {kGauge, "gpu_row_remap_rows", "type", "correctable"},
    {kGauge, "gpu_row_remap_rows", "type", "uncorrectable"},
    {kGauge, "gpu_row_remap_pending"},
    {kGauge, "gpu_row_remap_failed"},
    {kCounter, "gpu_pcie_replay_total"},
    {kGauge, "gpu_pcie_link_generation"},
    {kGauge, "gpu_pcie_link_generation_limit"},
    {kGauge, "gpu_pcie_link_width"},
    {kGauge, "gpu_pcie_link_width_limit"},
    {kGauge, "gpu_pcie_io_bytes_per_second", "direction", "transmit"},
    {kGauge, "gpu_pcie_io_bytes_per_second", "direction", "receive"},
    {kGauge, "gpu_nvlink_links"},
    {kGauge, "gpu_nvlink_active_links"},
    {kCounter, "gpu_nvlink_io_bytes_total", "direction", "transmit"},
    {kCounter, "gpu_nvlink_io_bytes_total", "direction", "receive"},
    {kCounter, "gpu_nvlink_errors_total", "type", "crc_flit"},
    {kCounter, "gpu_nvlink_errors_total", "type", "crc_data"},
    {kCounter, "gpu_nvlink_errors_total", "type", "replay"},
    {kCounter, "gpu_nvlink_errors_total", "type", "recovery"},
};

// A GPU field and the row that receives its value.
struct FieldRow {
  Nvml::FieldId id;
  size_t row;
};

// Returns true if the reading is permanently unavailable. Either the library reports that it is
// unsupported, or an old driver recognizes the GPU but not the request.
bool IsAbsent(const Status& status, bool ever_there) {
  return absl::IsUnimplemented(status) || (absl::IsInvalidArgument(status) && !ever_there);
}

}  // namespace

GpuProbe::GpuProbe(const Nvml* nvml, uint32_t index) : nvml_(*nvml), index_(index) {
  static_assert(kEnd == kRows && std::size(kTable) == kRows);
  values_.fill(MissingValue());
  Arrange();
}

GpuProbe::~GpuProbe() {
  nvml_.FreeGpmSample(gpm_before_);
  nvml_.FreeGpmSample(gpm_after_);
}

std::vector<std::string_view> GpuProbe::Names() {
  std::vector<std::string_view> names;
  for (const RowInfo& info : kTable) names.push_back(info.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

uint64_t GpuProbe::Read(int64_t now_ns) {
  errors_ = 0;
  if (device_ == nullptr) {
    const auto device = nvml_.Get(index_);
    if (!device.ok()) return 1;
    device_ = *device;
  }
  ReadFast();
  if (!begun_ || now_ns >= next_second_ns_) {
    next_second_ns_ = now_ns + kNanosPerSecond;
    ReadEachSecond();
  }
  if (!begun_ || now_ns >= next_slow_ns_) {
    next_slow_ns_ = now_ns + kSlowNs;
    if (!begun_) next_slow_ns_ += index_ % kTurns * kSlowNs / kTurns;
    ReadSlow(now_ns);
  }
  begun_ = true;
  Arrange();
  return errors_;
}

void GpuProbe::ReadFast() {
  if (Wanted(kUtilization)) Take(kUtilization, nvml_.UtilizationRatio(device_));
  if (Wanted(kPower)) Take(kPower, nvml_.PowerWatts(device_));
  if (Wanted(kSmClock)) Take(kSmClock, nvml_.ClockHertz(device_, Nvml::Clock::kSm));
  if (Wanted(kReason)) ReadClockEvents();
}

void GpuProbe::ReadEachSecond() {
  if (Wanted(kMemory)) Take(kMemory, nvml_.MemoryBytes(device_));
  if (Wanted(kTemperature)) Take(kTemperature, nvml_.TemperatureCelsius(device_));
  if (Wanted(kTemperatureMargin)) {
    Take(kTemperatureMargin, nvml_.TemperatureMarginCelsius(device_));
  }
  if (Wanted(kMemoryClock)) Take(kMemoryClock, nvml_.ClockHertz(device_, Nvml::Clock::kMemory));
  if (Wanted(kEnergy)) Take(kEnergy, nvml_.EnergyJoules(device_));
  if (Wanted(kGpm)) ReadGpm();
}

void GpuProbe::ReadSlow(int64_t now_ns) {
  if (Wanted(kInfo) && has_[kInfo] == Has::kUnknown) ReadIdentity();
  if (Wanted(kProcesses)) Take(kProcesses, nvml_.Processes(device_));
  if (Wanted(kSmClockLimit)) Take(kSmClockLimit, nvml_.ClockLimitHertz(device_, Nvml::Clock::kSm));
  if (Wanted(kPowerLimit)) Take(kPowerLimit, nvml_.PowerLimitWatts(device_));
  size_t row = kEcc;
  for (const auto type : {Nvml::EccErrors::kCorrected, Nvml::EccErrors::kUncorrected}) {
    for (const auto location :
         {Nvml::EccLocation::kSram, Nvml::EccLocation::kDram, Nvml::EccLocation::kAll}) {
      if (Wanted(row)) Take(row, nvml_.EccErrorCount(device_, type, location));
      ++row;
    }
  }
  if (Wanted(kRemap)) Take(kRemap, nvml_.RemappedRows(device_));
  if (Wanted(kPcieReplays)) Take(kPcieReplays, nvml_.PcieReplays(device_));
  if (Wanted(kPcieGeneration)) Take(kPcieGeneration, nvml_.PcieGeneration(device_));
  if (Wanted(kPcieGenerationLimit)) {
    Take(kPcieGenerationLimit, nvml_.PcieGenerationLimit(device_));
  }
  if (Wanted(kPcieWidth)) Take(kPcieWidth, nvml_.PcieWidth(device_));
  if (Wanted(kPcieWidthLimit)) Take(kPcieWidthLimit, nvml_.PcieWidthLimit(device_));
  ReadFields(now_ns);
  ReadNvlinks();
  if (pcie_.by_counters) return;
  for (const auto direction : {Nvml::Direction::kTransmit, Nvml::Direction::kReceive}) {
    row = kPcieBytes + (direction == Nvml::Direction::kReceive ? 1 : 0);
    if (Wanted(row)) Take(row, nvml_.PcieBytesPerSecond(device_, direction));
  }
}

void GpuProbe::ReadIdentity() {
  auto uuid = nvml_.Uuid(device_);
  auto model = nvml_.Model(device_);
  const Status status = uuid.ok() ? model.status() : uuid.status();
  if (status.ok()) {
    uuid_ = *std::move(uuid);
    model_ = *std::move(model);
  }
  constexpr double kThere = 1;
  Took(kInfo, 1, status, &kThere);
  arranged_ = false;
}

void GpuProbe::ReadClockEvents() {
  const auto reasons = nvml_.ClockEventReasons(device_);
  std::array<double, 9> bits{};
  for (size_t i = 0; reasons.ok() && i < bits.size(); ++i) {
    bits[i] = static_cast<double>(*reasons >> i & 1);
  }
  Took(kReason, bits.size(), reasons.status(), bits.data());
}

void GpuProbe::ReadGpm() {
  if (!gpm_.has_value()) {
    const auto has = nvml_.HasGpm(device_);
    if (!has.ok() || !*has) {
      const Status none = Unimplemented("this GPU does not support these counters");
      Took(kGpm, 3, has.ok() ? none : has.status(), nullptr);
      return;
    }
    gpm_ = true;
  }
  for (Nvml::GpmSample* sample : {&gpm_before_, &gpm_after_}) {
    if (*sample != nullptr) continue;
    const auto made = nvml_.NewGpmSample();
    if (!made.ok()) return Took(kGpm, 3, made.status(), nullptr);
    *sample = *made;
  }
  const Status status = nvml_.TakeGpmSample(device_, gpm_after_);
  const bool had_one = std::exchange(gpm_taken_, status.ok());
  if (!status.ok()) return Took(kGpm, 3, status, nullptr);
  if (had_one) Take(kGpm, nvml_.GpmRatios(gpm_before_, gpm_after_));
  std::swap(gpm_before_, gpm_after_);
}

void GpuProbe::ReadFields(int64_t now_ns) {
  using Id = Nvml::FieldId;
  static constexpr std::array kFields = {
      FieldRow{Id::kMemoryTemperature, kMemoryTemperature},
      FieldRow{Id::kNvlinks, kNvlinks},
      FieldRow{Id::kNvlinkTransmit, kNvlinkBytes},
      FieldRow{Id::kNvlinkReceive, kNvlinkBytes + 1},
      FieldRow{Id::kNvlinkCrcFlitErrors, kNvlinkErrors},
      FieldRow{Id::kNvlinkCrcDataErrors, kNvlinkErrors + 1},
      FieldRow{Id::kNvlinkReplayErrors, kNvlinkErrors + 2},
      FieldRow{Id::kNvlinkRecoveryErrors, kNvlinkErrors + 3},
      FieldRow{Id::kPcieTransmit, kPcieBytes},
      FieldRow{Id::kPcieReceive, kPcieBytes + 1},
  };
  static_assert(kFields.size() <= Nvml::kMaxFields);
  const auto of_pcie = [](size_t row) { return row == kPcieBytes || row == kPcieBytes + 1; };
  std::array<Nvml::Field, kFields.size()> fields;
  std::array<size_t, kFields.size()> rows{};
  size_t count = 0;
  for (const FieldRow& field : kFields) {
    if (!Wanted(field.row) || (of_pcie(field.row) && !pcie_.by_counters)) continue;
    fields[count].id = field.id;
    rows[count++] = field.row;
  }
  if (count == 0) return;
  const Status status = nvml_.ReadFields(device_, {fields.data(), count});
  for (size_t i = 0; i < count; ++i) {
    if (!status.ok()) fields[i].value = status;
    if (!of_pcie(rows[i])) Take(rows[i], fields[i].value);
  }
  // The two PCIe fields are always requested together and at the end.
  if (pcie_.by_counters) ReadPcieCounters(fields[count - 2], fields[count - 1], now_ns);
}

void GpuProbe::ReadPcieCounters(const Nvml::Field& transmit, const Nvml::Field& receive,
                                int64_t now_ns) {
  for (const Nvml::Field* field : {&transmit, &receive}) {
    const Status status = field->value.status();
    // A 32-bit counter may wrap around between two readings.
    if (IsAbsent(status, pcie_.bytes.has_value()) || (status.ok() && !field->wide)) {
      pcie_.by_counters = false;
      return;
    }
    if (!status.ok()) {
      pcie_.bytes.reset();
      return Took(kPcieBytes, 2, status, nullptr);
    }
  }
  const std::array<double, 2> bytes = {*transmit.value, *receive.value};
  const double seconds = transmit.sampled_us > 0 ? static_cast<double>(transmit.sampled_us) / 1e6
                                                 : static_cast<double>(now_ns) / 1e9;
  const double took = seconds - pcie_.seconds;
  std::array<double, 2> rates = {MissingValue(), MissingValue()};
  for (size_t i = 0; pcie_.bytes.has_value() && i < 2; ++i) {
    const double moved = bytes[i] - (*pcie_.bytes)[i];
    if (took > 0 && moved >= 0) rates[i] = moved / took;  // the counter may wrap around or be reset
  }
  Took(kPcieBytes, 2, OkStatus(), rates.data());
  pcie_.bytes = bytes;
  pcie_.seconds = seconds;
}

void GpuProbe::ReadNvlinks() {
  if (!Wanted(kNvlinksActive)) return;
  if (!Wanted(kNvlinks)) {
    return Took(kNvlinksActive, 1, Unimplemented("the number of links is unknown"), nullptr);
  }
  const double links = values_[kNvlinks];
  if (IsMissing(links) || links > kMaxNvlinks) {
    values_[kNvlinksActive] = MissingValue();
    return;
  }
  double active = 0;
  Status refused;
  double refusals = 0;
  for (unsigned link = 0; link < links; ++link) {
    const auto state = nvml_.NvlinkActive(device_, link);
    if (state.ok()) {
      active += *state ? 1 : 0;
    } else if (IsAbsent(state.status(), false)) {  // the board does not use this link
      refused = state.status();
      ++refusals;
    } else {
      return Took(kNvlinksActive, 1, state.status(), nullptr);
    }
  }
  const bool none = links > 0 && refusals == links;
  Took(kNvlinksActive, 1, none ? refused : OkStatus(), &active);
}

void GpuProbe::Took(size_t first, size_t count, const Status& status, const double* values) {
  const bool absent = IsAbsent(status, has_[first] == Has::kYes);
  if (!status.ok() && !absent) ++errors_;
  for (size_t row = first; row < first + count; ++row) {
    values_[row] = status.ok() ? values[row - first] : MissingValue();
    if (absent && has_[row] != Has::kNo) arranged_ = false;
    if (absent) has_[row] = Has::kNo;
    if (status.ok()) has_[row] = Has::kYes;
  }
}

void GpuProbe::Take(size_t row, const StatusOr<double>& read) {
  Took(row, 1, read.status(), read.ok() ? &*read : nullptr);
}

template <size_t kCount>
void GpuProbe::Take(size_t first, const StatusOr<std::array<double, kCount>>& read) {
  Took(first, kCount, read.status(), read.ok() ? read->data() : nullptr);
}

void GpuProbe::Arrange() {
  const bool named = has_[kInfo] == Has::kYes;  // this series consists only of its labels
  const auto shown = [&](size_t row) { return row == kInfo ? named : Wanted(row); };
  if (!arranged_) {
    auto series = std::make_shared<std::vector<GpuSeries>>();
    for (size_t row = 0; row < kRows; ++row) {
      if (!shown(row)) continue;
      const RowInfo& info = kTable[row];
      GpuSeries one{info.kind, info.name, {}};
      if (row == kInfo) one.labels = {{"uuid", uuid_}, {"model", model_}};
      if (!info.label.empty()) one.labels.emplace_back(info.label, info.value);
      if (!info.label2.empty()) one.labels.emplace_back(info.label2, info.value2);
      series->push_back(std::move(one));
    }
    rows_.series = std::move(series);
    arranged_ = true;
  }
  rows_.values.clear();
  for (size_t row = 0; row < kRows; ++row) {
    if (shown(row)) rows_.values.push_back(values_[row]);
  }
}

}  // namespace pitwall::collector
