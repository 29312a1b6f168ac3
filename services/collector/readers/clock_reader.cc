#include "services/collector/readers/monotonic_event_clock.h"
#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {
namespace {

class ClockReader final : public SeriesReader {
 public:
  ClockReader(const ReaderContext& context, const MonotonicEventClock& time)
      : context_(context), time_(time) {}

  bool Read() override {
    offset_ = static_cast<double>(time_.Drift()) / kNanosPerSecond;
    const bool first = !described_;
    described_ = true;
    return first;
  }
  void Describe(std::vector<SeriesDescriptor>* out) const override {
    out->push_back(NodeSeries(context_, SeriesKind::kGauge, "pitwall_clock_offset_seconds", {}));
  }
  double* Fill(double* row) const override {
    *row++ = offset_;
    return row;
  }

 private:
  const ReaderContext context_;
  const MonotonicEventClock& time_;
  double offset_ = 0;
  bool described_ = false;
};

}  // namespace

std::unique_ptr<SeriesReader> NewClockReader(const ReaderContext& context,
                                             const MonotonicEventClock& time) {
  return std::make_unique<ClockReader>(context, time);
}

}  // namespace pitwall::collector
