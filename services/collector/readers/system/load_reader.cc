// Reader of /proc/loadavg: load averages.
#include <utility>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

class LoadReader final : public SeriesReader {
 public:
  explicit LoadReader(const ReaderContext& context)
      : context_(context), file_(UnderRoot(context.root, "proc/loadavg")) {}

  bool Read() override {
    const auto text = file_.Read();
    const std::optional<double> load = ParseDouble(TextScan(text.value_or("")).Word());
    load_ = load.value_or(MissingValue());
    if (!load.has_value()) {
      context_.counters->read_errors.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    return !std::exchange(known_, true);
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    if (known_)
      out->push_back(NodeSeries(context_, SeriesKind::kGauge, "system_load_average_1m", {}));
  }

  double* Fill(double* row) const override {
    if (known_) *row++ = load_;
    return row;
  }

 private:
  const ReaderContext context_;
  ProcFile file_;
  double load_ = 0;
  bool known_ = false;
};

}  // namespace

std::unique_ptr<SeriesReader> NewLoadReader(const SystemContext& context) {
  return std::make_unique<LoadReader>(context);
}

}  // namespace pitwall::collector
