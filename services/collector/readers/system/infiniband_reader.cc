// Reader of /sys/class/infiniband: ports of InfiniBand and RoCE adapters.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/device_rows.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

// The ports are read less often than the sampler may call, because reading a counter may involve a
// command to the adapter.
constexpr int64_t kPeriodNs = kNanosPerSecond;
constexpr double kWordBytes = 4;      // data is counted in 32-bit words
constexpr double kRateUnit = 1.25e8;  // bytes per second in 1 Gb/s

struct Source {
  std::string_view file;  // path below the port's directory
  SeriesKind kind;
  std::string_view name;
  std::string_view label = {};
  std::string_view value = {};
  double unit = 1;
};
constexpr SeriesKind kGauge = SeriesKind::kGauge;
constexpr SeriesKind kCounter = SeriesKind::kCounter;
constexpr std::string_view kBytes = "ib_port_io_bytes_total";
constexpr std::string_view kErrors = "ib_port_errors_total";
constexpr std::array kSources = {
    Source{"state", kGauge, "ib_port_state"},
    Source{"rate", kGauge, "ib_port_rate_bytes_per_second", {}, {}, kRateUnit},
    Source{"counters/port_rcv_data", kCounter, kBytes, "direction", "receive", kWordBytes},
    Source{"counters/port_xmit_data", kCounter, kBytes, "direction", "transmit", kWordBytes},
    Source{"counters/link_downed", kCounter, "ib_port_link_downed_total"},
    Source{"counters/symbol_error", kCounter, kErrors, "type", "symbol"},
    Source{"counters/port_rcv_errors", kCounter, kErrors, "type", "receive"},
    Source{"counters/port_xmit_discards", kCounter, kErrors, "type", "transmit_discard"},
    Source{"counters/link_error_recovery", kCounter, kErrors, "type", "link_recovery"},
    Source{"hw_counters/out_of_sequence", kCounter, kErrors, "type", "out_of_sequence"},
    Source{"counters/port_xmit_wait", kCounter, "ib_port_transmit_wait_total"},
};

// Parses "4: ACTIVE", "200 Gb/sec (2X HDR)", or "12345".
std::optional<double> LeadingNumber(std::string_view text) {
  std::string_view word = TextScan(text.substr(0, text.find('\n'))).Word();
  if (EndsWith(word, ":")) word.remove_suffix(1);
  const auto number = ParseDouble(word);
  if (!number.has_value() || !(*number >= 0)) return std::nullopt;
  return number;
}

// Returns true for errors that drivers use to report an unsupported counter.
bool IsNone(int error) {
  return error == ENOENT || error == ENOTDIR || error == EINVAL || error == EOPNOTSUPP;
}

class InfinibandReader final : public SeriesReader {
 public:
  explicit InfinibandReader(const SystemContext& context)
      : context_(context),
        clock_(*context.clock),
        folder_(UnderRoot(context.root, "sys/class/infiniband")) {}

  bool Read() override {
    const int64_t now_ns = clock_.MonotonicNs();
    if (next_ns_.has_value() && now_ns < *next_ns_) return false;
    next_ns_ = now_ns + kPeriodNs;
    std::vector<Port> ports;
    for (const std::string& device : NamesIn(folder_)) {
      const std::string of_device = Cat(folder_, "/", device, "/ports");
      for (const std::string& port : NamesIn(of_device)) {
        if (ports.size() == kMaxDevices) break;
        ports.push_back(ReadPort(device, port, Cat(of_device, "/", port, "/")));
      }
    }
    const bool changed = !std::equal(
        ports.begin(), ports.end(), ports_.begin(), ports_.end(), [](const Port& a, const Port& b) {
          return a.device == b.device && a.port == b.port && a.there == b.there;
        });
    ports_ = std::move(ports);
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const Port& port : ports_) {
      for (size_t i = 0; i < kSources.size(); ++i) {
        if (!port.there[i]) continue;
        const Source& source = kSources[i];
        // NodeSeries omits labels without a value.
        const std::string_view label = source.label.empty() ? "direction" : source.label;
        out->push_back(
            NodeSeries(context_, source.kind, source.name,
                       {{"device", port.device}, {"port", port.port}, {label, source.value}}));
      }
    }
  }

  double* Fill(double* row) const override {
    for (const Port& port : ports_) {
      for (size_t i = 0; i < kSources.size(); ++i) {
        if (port.there[i]) *row++ = port.values[i];
      }
    }
    return row;
  }

 private:
  struct Port {
    std::string device;
    std::string port;
    std::array<bool, kSources.size()> there{};  // drivers may lack some counters
    std::array<double, kSources.size()> values{};
  };

  Port ReadPort(const std::string& device, const std::string& number, const std::string& folder) {
    Port port{device, number, {}, {}};
    for (size_t i = 0; i < kSources.size(); ++i) {
      ProcFile file(Cat(folder, kSources[i].file));
      const auto text = file.Read(kFileBytes);
      port.there[i] = text.has_value() ? !StartsWith(*text, "N/A") : !IsNone(file.error());
      if (!port.there[i]) continue;
      const auto number_read = text.has_value() ? LeadingNumber(*text) : std::nullopt;
      if (!number_read.has_value())
        context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      port.values[i] = number_read.has_value() ? *number_read * kSources[i].unit : MissingValue();
    }
    return port;
  }

  static constexpr size_t kFileBytes = 128;
  const ReaderContext context_;
  const Clock& clock_;
  const std::string folder_;
  std::optional<int64_t> next_ns_;  // monotonic time
  std::vector<Port> ports_;
};

}  // namespace

std::unique_ptr<SeriesReader> NewInfinibandReader(const SystemContext& context) {
  return std::make_unique<InfinibandReader>(context);
}

}  // namespace pitwall::collector
