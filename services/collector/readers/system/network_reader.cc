// Reader of /proc/net/dev: traffic per interface.
#include <array>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/device_rows.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

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

class NetworkReader final : public SeriesReader {
 public:
  explicit NetworkReader(const ReaderContext& context)
      : context_(context), file_(HostNetFile(context.root, "dev")) {}

  bool Read() override {
    const auto text = file_.Read();
    valid_ = text.has_value();
    if (!valid_) {
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    rows_.Begin();
    TextScan lines(*text);
    std::string_view line;
    while (lines.Line(&line)) {
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;  // lines with column headers
      const std::string_view device = Trim(line.substr(0, colon));
      if (device.empty() || IsVirtual(device)) continue;
      std::array<uint64_t, kColumns> columns{};
      TextScan words(line.substr(colon + 1));
      if (!words.Numbers(columns)) {
        context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      if (auto* row = rows_.Next(device)) {
        for (size_t i = 0; i < 4; ++i) {
          (*row)[2 * i] = static_cast<double>(columns[i]);
          (*row)[2 * i + 1] = static_cast<double>(columns[8 + i]);
        }
      }
    }
    return rows_.End();
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const auto& device : rows_.devices()) {
      for (std::string_view name : kNames) {
        for (std::string_view direction : {"receive", "transmit"}) {
          out->push_back(NodeSeries(context_, SeriesKind::kCounter, name,
                                    {{"device", device.name}, {"direction", direction}}));
        }
      }
    }
  }

  double* Fill(double* row) const override {
    for (const auto& device : rows_.devices()) {
      for (double value : device.values) *row++ = valid_ ? value : MissingValue();
    }
    return row;
  }

 private:
  const ReaderContext context_;
  ProcFile file_;
  bool valid_ = false;
  DeviceRows<8> rows_;
};

}  // namespace

std::unique_ptr<SeriesReader> NewNetworkReader(const SystemContext& context) {
  return std::make_unique<NetworkReader>(context);
}

}  // namespace pitwall::collector
