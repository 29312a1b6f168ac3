// Reader of the clocks: how far the wall clock is ahead of event time.
#include "services/collector/readers/system/system_readers.h"

namespace pitwall::collector {
namespace {

class ClockReader final : public SeriesReader {
 public:
  explicit ClockReader(const SystemContext& context)
      : context_(context), time_(*context.event_clock) {}

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

std::unique_ptr<SeriesReader> NewClockReader(const SystemContext& context) {
  return std::make_unique<ClockReader>(context);
}

}  // namespace pitwall::collector
