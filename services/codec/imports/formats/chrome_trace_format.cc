// Format chrome-trace: exports of torch.profiler.
#include "services/base/text/strings.h"
#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/traces/chrome_trace.h"

namespace pitwall::imports {
namespace {

class ChromeTraceImporter final : public Importer {
 public:
  ChromeTraceImporter(const std::string& input, SampleSink* sink)
      : series_(sink), traces_(input, &series_) {}

  Status BeginFile(const std::string& path, std::optional<std::string_view>) override {
    traces_.BeginFile(path);
    return OkStatus();
  }
  Status Feed(std::string_view bytes) override { return traces_.Feed(bytes); }
  Status EndFile(bool) override { return traces_.EndFile(); }
  Status Finish() override { return traces_.Finish(); }

 private:
  SeriesIndex series_;
  ChromeTraceReader traces_;
};

StatusOr<NewImporter> Configure(const OptionValue&, std::string_view) {
  return NewImporter([](const std::string& input, SampleSink* sink) {
    return std::make_unique<ChromeTraceImporter>(input, sink);
  });
}

}  // namespace

Format ChromeTraceFormat() {
  return {.name = "chrome-trace",
          .no_samples =
              "a trace has samples only if steps (prof.step() after each one), phases, or "
              "collectives are marked",
          .wanted =
              [](const std::string& file_name) {
                return EndsWith(file_name, ".json") || EndsWith(file_name, ".json.gz");
              },
          .expected = "….json or ….json.gz",
          .gzip = true,
          .configure = Configure};
}

}  // namespace pitwall::imports
