// Reader of /proc/net/dev: traffic per interface.
#include <array>

#include "services/base/text/strings.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/device_file_reader.h"
#include "services/collector/readers/system/system_readers.h"

namespace pitwall::collector {
namespace {

constexpr std::array<std::string_view, 4> kNames = {
    "system_network_io_bytes_total", "system_network_packets_total", "system_network_errors_total",
    "system_network_dropped_total"};
// Each line has 8 receive columns, followed by 8 transmit columns.
constexpr size_t kColumns = 16;

// Returns true for the loopback and container interfaces. Container interfaces are short-lived, and
// their traffic also passes through a physical interface.
bool IsVirtual(std::string_view device) {
  if (device == "lo") return true;
  for (std::string_view prefix : {"veth", "cali", "lxc", "cilium"}) {
    if (StartsWith(device, prefix)) return true;
  }
  return false;
}

class NetworkReader final : public DeviceFileReader<8> {
 public:
  explicit NetworkReader(const ReaderContext& context)
      : DeviceFileReader(context, HostNetFile(context.root, "dev")) {}

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const auto& device : rows().devices()) {
      for (std::string_view name : kNames) {
        for (std::string_view direction : {"receive", "transmit"}) {
          out->push_back(NodeSeries(context(), SeriesKind::kCounter, name,
                                    {{"device", device.name}, {"direction", direction}}));
        }
      }
    }
  }

 private:
  void ReadLine(std::string_view line) override {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;  // lines with column headers
    const std::string_view device = Trim(line.substr(0, colon));
    if (device.empty() || IsVirtual(device)) return;
    std::array<uint64_t, kColumns> columns{};
    TextScan words(line.substr(colon + 1));
    if (!words.Numbers(columns)) {
      CountError();
      return;
    }
    if (auto* row = rows().Next(device)) {
      for (size_t i = 0; i < 4; ++i) {
        (*row)[2 * i] = static_cast<double>(columns[i]);
        (*row)[2 * i + 1] = static_cast<double>(columns[8 + i]);
      }
    }
  }
};

}  // namespace

std::unique_ptr<SeriesReader> NewNetworkReader(const SystemContext& context) {
  return std::make_unique<NetworkReader>(context);
}

}  // namespace pitwall::collector
