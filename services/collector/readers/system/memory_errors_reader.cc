// Reader of /sys/devices/system/edac/mc (EDAC): errors of the node's memory, over all controllers.
#include <algorithm>
#include <array>
#include <optional>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/device_rows.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

// Errors are rare, so the counters are read less often than the sampler may call.
constexpr int64_t kPeriodNs = 10 * kNanosPerSecond;
constexpr size_t kFileBytes = 32;

struct ErrorKind {
  std::string_view file;  // below the controller's directory
  std::string_view type;  // value of the label
};
constexpr std::array kKinds = {ErrorKind{"ce_count", "corrected"},
                               ErrorKind{"ue_count", "uncorrected"}};

// Returns true for mc0, mc1, and so on.
bool IsController(std::string_view name) {
  return StartsWith(name, "mc") && TextScan::ToNumber(name.substr(2)).has_value();
}

class MemoryErrorsReader final : public SeriesReader {
 public:
  explicit MemoryErrorsReader(const SystemContext& context)
      : context_(context),
        clock_(*context.clock),
        folder_(UnderRoot(context.root, "sys/devices/system/edac/mc")) {}

  bool Read() override {
    const int64_t now_ns = clock_.MonotonicNs();
    if (next_ns_.has_value() && now_ns < *next_ns_) return false;
    next_ns_ = now_ns + kPeriodNs;
    const bool first = controllers_.empty();
    FindControllers();
    for (size_t i = 0; i < kKinds.size(); ++i) totals_[i] = ReadTotal(kKinds[i].file);
    return first && !controllers_.empty();
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    if (controllers_.empty()) return;
    for (const ErrorKind& kind : kKinds) {
      out->push_back(NodeSeries(context_, SeriesKind::kCounter, "system_memory_errors_total",
                                {{"type", kind.type}}));
    }
  }

  double* Fill(double* row) const override {
    return controllers_.empty() ? row : std::copy(totals_.begin(), totals_.end(), row);
  }

 private:
  // Adds controllers whose driver was loaded since the previous reading.
  void FindControllers() {
    for (std::string& name : NamesIn(folder_)) {
      if (controllers_.size() == kMaxDevices) return;
      if (IsController(name) &&
          std::find(controllers_.begin(), controllers_.end(), name) == controllers_.end())
        controllers_.push_back(std::move(name));
    }
  }

  // Returns the sum over all controllers. It is missing if the counter of any known controller
  // cannot be read, because a smaller sum would look like a reset followed by new errors.
  double ReadTotal(std::string_view file) const {
    double total = 0;
    bool complete = true;
    for (const std::string& controller : controllers_) {
      ProcFile counter(Cat(folder_, "/", controller, "/", file));
      const auto text = counter.Read(kFileBytes);
      const auto number = text.has_value() ? TextScan(*text).Number() : std::nullopt;
      if (number.has_value()) {
        total += static_cast<double>(*number);
      } else {
        context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
        complete = false;
      }
    }
    return complete ? total : MissingValue();
  }

  const ReaderContext context_;
  const Clock& clock_;
  const std::string folder_;
  std::optional<int64_t> next_ns_;  // monotonic time
  std::vector<std::string> controllers_;
  std::array<double, kKinds.size()> totals_{};
};

}  // namespace

std::unique_ptr<SeriesReader> NewMemoryErrorsReader(const SystemContext& context) {
  return std::make_unique<MemoryErrorsReader>(context);
}

}  // namespace pitwall::collector
