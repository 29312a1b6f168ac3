// Reader of priority flow control pauses in the driver counters of network devices behind RDMA
// adapters.
#include <algorithm>
#include <array>
#include <optional>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/readers/device_rows.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

// Drivers query the firmware of the adapter.
constexpr int64_t kPeriodNs = 10 * kNanosPerSecond;
constexpr std::string_view kName = "system_network_pfc_pauses_total";
constexpr size_t kPriorities = 8;
// Numbers of received and sent pauses for each priority.
using Pauses = std::array<double, 2 * kPriorities>;

// Returns the index into Pauses for a driver's counter name, or nullopt for other counters. The
// names after rx_ or tx_ are:
//   prio3_pause             mlx5 (NVIDIA ConnectX)
//   pfc_ena_frames_pri3     bnxt (Broadcom)
//   priority_3_xoff.nic     ice (Intel); i40e has the prefix "port." and no suffix
std::optional<size_t> PauseIndex(std::string_view name) {
  if (StartsWith(name, "port.")) name.remove_prefix(5);
  const bool sent = StartsWith(name, "tx_");
  if (!sent && !StartsWith(name, "rx_")) return std::nullopt;
  name.remove_prefix(3);
  struct Form {
    std::string_view before, after;
  };
  for (const Form& form : {Form{"prio", "_pause"}, Form{"pfc_ena_frames_pri", ""},
                           Form{"priority_", "_xoff.nic"}, Form{"priority_", "_xoff"}}) {
    if (name.size() != form.before.size() + 1 + form.after.size()) continue;
    if (!StartsWith(name, form.before) || !EndsWith(name, form.after)) continue;
    const char digit = name[form.before.size()];
    if (digit < '0' || digit > '7') continue;
    return 2 * static_cast<size_t>(digit - '0') + (sent ? 1 : 0);
  }
  return std::nullopt;
}

class PfcReader final : public SeriesReader {
 public:
  explicit PfcReader(const SystemContext& context)
      : context_(context),
        clock_(*context.clock),
        counters_(*context.driver_counters),
        adapters_(UnderRoot(context.root, "sys/class/infiniband")) {}

  bool Read() override {
    const int64_t now_ns = clock_.MonotonicNs();
    if (next_ns_.has_value() && now_ns < *next_ns_) return false;
    next_ns_ = now_ns + kPeriodNs;
    std::vector<std::string> names;
    for (const std::string& adapter : NamesIn(adapters_)) {
      for (std::string& name : NamesIn(Cat(adapters_, "/", adapter, "/device/net")))
        names.push_back(std::move(name));
    }
    std::sort(names.begin(),
              names.end());  // two ports may appear as two adapters with the same devices
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.size() > kMaxDevices) names.resize(kMaxDevices);
    std::vector<Device> devices;
    for (const std::string& name : names) {
      if (auto device = ReadDevice(name)) devices.push_back(*std::move(device));
    }
    const bool changed =
        !std::equal(devices.begin(), devices.end(), devices_.begin(), devices_.end(),
                    [](const Device& a, const Device& b) { return a.name == b.name; });
    devices_ = std::move(devices);
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const Device& device : devices_) {
      for (size_t i = 0; i < device.pauses.size(); ++i) {
        out->push_back(NodeSeries(context_, SeriesKind::kCounter, kName,
                                  {{"device", device.name},
                                   {"priority", std::to_string(i / 2)},
                                   {"direction", i % 2 == 0 ? "receive" : "transmit"}}));
      }
    }
  }

  double* Fill(double* row) const override {
    for (const Device& device : devices_)
      row = std::copy(device.pauses.begin(), device.pauses.end(), row);
    return row;
  }

 private:
  struct Device {
    std::string name;
    Pauses pauses{};
  };

  std::optional<Device> ReadDevice(const std::string& name) {
    Device device{name, {}};
    device.pauses.fill(MissingValue());
    const auto counters = counters_.Read(name);
    if (!counters.ok()) {
      if (absl::IsUnimplemented(counters.status())) return std::nullopt;
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      // Existing series of the device are kept.
      const bool had = std::any_of(devices_.begin(), devices_.end(),
                                   [&](const Device& known) { return known.name == name; });
      return had ? std::optional(device) : std::nullopt;
    }
    bool any = false;
    for (const DriverCounter& counter : *counters) {
      const auto index = PauseIndex(counter.name);
      if (!index.has_value()) continue;
      device.pauses[*index] = static_cast<double>(counter.value);
      any = true;
    }
    return any ? std::optional(std::move(device)) : std::nullopt;
  }

  const ReaderContext context_;
  const Clock& clock_;
  const DriverCounters& counters_;
  const std::string adapters_;
  std::optional<int64_t> next_ns_;  // monotonic time
  std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<SeriesReader> NewPfcReader(const SystemContext& context) {
  return std::make_unique<PfcReader>(context);
}

}  // namespace pitwall::collector
