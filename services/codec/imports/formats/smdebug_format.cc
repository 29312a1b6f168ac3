// Format smdebug: output of Amazon SageMaker Debugger's profiler.
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/system_metrics.h"
#include "services/codec/imports/traces/job_timeline.h"

namespace pitwall::imports {
namespace {

// Returns true for names like <seconds>.algo-N.json.
bool IsSystemMetrics(const std::string& file_name) {
  const size_t dot = file_name.find('.');
  return dot != std::string::npos && EndsWith(file_name, ".json") &&
         ParseInt(std::string_view(file_name).substr(0, dot)) &&
         file_name.size() > dot + std::string_view(".json").size();
}

class DebuggerImporter final : public Importer {
 public:
  DebuggerImporter(const std::string& input, SampleSink* sink)
      : series_(sink), metrics_(&series_), timelines_(input, &series_) {}

  Status BeginFile(const std::string& path, std::optional<std::string_view>) override {
    timeline_ = IsJobTimeline(BaseName(path));
    if (timeline_) return timelines_.BeginFile(path);
    metrics_.BeginFile(path);
    return OkStatus();
  }
  Status Feed(std::string_view bytes) override {
    return timeline_ ? timelines_.Feed(bytes) : metrics_.Feed(bytes);
  }
  Status EndFile(bool) override { return timeline_ ? timelines_.EndFile() : metrics_.EndFile(); }
  Status Finish() override {
    RETURN_IF_ERROR(metrics_.Finish());
    return timelines_.Finish();
  }

 private:
  SeriesIndex series_;
  SystemMetricsReader metrics_;
  JobTimelineReader timelines_;
  bool timeline_ = false;  // whether the current file is a timeline
};

StatusOr<NewImporter> Configure(const OptionValue&, std::string_view) {
  return NewImporter([](const std::string& input, SampleSink* sink) {
    return std::make_unique<DebuggerImporter>(input, sink);
  });
}

}  // namespace

Format DebuggerFormat() {
  return {.name = "smdebug",
          .no_samples = "the files have neither rows of known metrics nor events",
          .wanted =
              [](const std::string& file_name) {
                return IsSystemMetrics(file_name) || IsJobTimeline(file_name);
              },
          .expected = "<seconds>.algo-N.json or <end>_<pid>-<node>_pythontimeline.json",
          .configure = Configure};
}

}  // namespace pitwall::imports
