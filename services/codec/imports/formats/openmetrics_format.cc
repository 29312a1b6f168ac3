// Format openmetrics: OpenMetrics, and Prometheus' text format with timestamps.
#include <memory>

#include "services/codec/imports/formats/formats.h"
#include "services/codec/openmetrics/reader.h"
#include "services/model/position.h"

namespace pitwall::imports {
namespace {

constexpr size_t kTailBytes = 16;  // enough for the last line of an OpenMetrics file

// Passes samples without steps to the sink.
class WithoutSteps final : public openmetrics::SampleSink {
 public:
  explicit WithoutSteps(imports::SampleSink* sink) : sink_(sink) {}
  Status NewSeries(uint32_t series, Labels labels) override {
    return sink_->NewSeries(series, std::move(labels), "");
  }
  Status Sample(uint32_t series, int64_t time_ns, double value, uint32_t line) override {
    return sink_->Sample(series, time_ns, kNoStep, value, line);
  }

 private:
  imports::SampleSink* const sink_;
};

class OpenMetricsImporter final : public Importer {
 public:
  explicit OpenMetricsImporter(imports::SampleSink* sink) : sink_(sink) {}

  // Detects the dialect from the end of the file. A non-seekable file must be in OpenMetrics
  // format.
  Status BeginFile(const std::string& path, std::optional<std::string_view> tail) override {
    const openmetrics::Dialect dialect =
        tail.has_value() ? openmetrics::DialectOf(*tail) : openmetrics::Dialect::kOpenMetrics;
    reader_ = std::make_unique<openmetrics::Reader>(path, dialect, &sink_,
                                                    openmetrics::ReaderLimits(), &skipped_);
    return OkStatus();
  }
  Status Feed(std::string_view bytes) override { return reader_->Feed(bytes); }
  Status EndFile(bool) override { return reader_->Finish(); }
  Status Finish() override { return OkStatus(); }

 private:
  WithoutSteps sink_;
  lenient::SkippedRecords skipped_{"line"};
  std::unique_ptr<openmetrics::Reader> reader_;
};

StatusOr<NewImporter> Configure(const OptionValue&, std::string_view) {
  return NewImporter([](const std::string&, imports::SampleSink* sink) {
    return std::make_unique<OpenMetricsImporter>(sink);
  });
}

}  // namespace

Format OpenMetricsFormat() {
  return {.name = "openmetrics",
          .no_samples = "there is no line with a value and a timestamp",
          .tail_bytes = kTailBytes,
          .configure = Configure};
}

}  // namespace pitwall::imports
