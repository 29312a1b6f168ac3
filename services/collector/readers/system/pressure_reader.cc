// Reader of /proc/pressure (PSI): time during which some or all tasks were stalled on a resource.
#include <array>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

constexpr std::array<std::string_view, 3> kResources = {"cpu", "io", "memory"};

class PressureReader final : public SeriesReader {
 public:
  explicit PressureReader(const ReaderContext& context) : context_(context) {
    for (std::string_view resource : kResources) {
      files_.emplace_back(UnderRoot(context.root, Cat("proc/pressure/", resource)));
    }
  }

  bool Read() override {
    bool changed = false;
    for (size_t i = 0; i < kResources.size(); ++i) {
      const auto text = files_[i].Read();
      totals_[i] = ParsePressure(text.value_or(""));
      if (text.has_value()) {
        changed |= !known_[i];
        known_[i] = true;
      } else if (known_[i]) {  // a kernel without PSI is not an error
        context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      }
    }
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (size_t i = 0; i < kResources.size(); ++i) {
      if (!known_[i]) continue;
      for (std::string_view kind : {"some", "full"}) {
        out->push_back(NodeSeries(context_, SeriesKind::kCounter,
                                  "system_pressure_stall_seconds_total",
                                  {{"resource", kResources[i]}, {"kind", kind}}));
      }
    }
  }

  double* Fill(double* row) const override {
    for (size_t i = 0; i < kResources.size(); ++i) {
      if (!known_[i]) continue;
      *row++ = totals_[i].some;
      *row++ = totals_[i].full;
    }
    return row;
  }

 private:
  const ReaderContext context_;
  std::vector<ProcFile> files_;
  std::array<PressureTotals, kResources.size()> totals_{};
  std::array<bool, kResources.size()> known_{};
};

}  // namespace

PressureTotals ParsePressure(std::string_view text) {
  PressureTotals totals{MissingValue(), MissingValue()};
  TextScan lines(text);
  std::string_view line;
  while (lines.Line(&line)) {
    const bool some = StartsWith(line, "some ");
    if (!some && !StartsWith(line, "full ")) continue;
    const size_t at = line.find("total=");
    if (at == std::string_view::npos) continue;
    const auto microseconds = TextScan(line.substr(at + 6)).Number();
    if (!microseconds.has_value()) continue;
    (some ? totals.some : totals.full) = static_cast<double>(*microseconds) / 1e6;
  }
  return totals;
}

std::unique_ptr<SeriesReader> NewPressureReader(const SystemContext& context) {
  return std::make_unique<PressureReader>(context);
}

}  // namespace pitwall::collector
