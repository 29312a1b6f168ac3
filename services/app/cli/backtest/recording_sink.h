// Sink that adds imported samples to a recording.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/codec/imports/sample_sink.h"
#include "services/offline/backtest/recording.h"

namespace pitwall {

class RecordingSink final : public imports::SampleSink {
 public:
  // `recording` must outlive the sink.
  explicit RecordingSink(offline::Recording* recording) : recording_(recording) {}
  Status NewSeries(uint32_t series, Labels labels, std::string_view mode) override {
    return recording_->AddSeries(series, labels, mode);
  }
  Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value,
                uint32_t line) override {
    return recording_->AddSample(series, time_ns, value, line, step);
  }

 private:
  offline::Recording* const recording_;
};

}  // namespace pitwall
