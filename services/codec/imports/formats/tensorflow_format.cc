// Format tensorflow: profiles of TensorFlow, Keras, and JAX.
#include <algorithm>

#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/series_index.h"
#include "services/codec/imports/traces/tensorflow_profile.h"

namespace pitwall::imports {
namespace {

class TensorflowImporter final : public Importer {
 public:
  TensorflowImporter(const std::string& input, SampleSink* sink)
      : series_(sink), profiles_(input, &series_) {}

  Status BeginFile(const std::string& path, std::optional<std::string_view>) override {
    return profiles_.BeginFile(path);
  }
  Status Feed(std::string_view bytes) override { return profiles_.Feed(bytes); }
  Status EndFile(bool) override { return profiles_.EndFile(); }
  Status Finish() override { return profiles_.Finish(); }

 private:
  SeriesIndex series_;
  TensorflowProfileReader profiles_;
};

// JAX writes each profile in both formats.
void RemoveTexts(std::vector<std::string>* paths) {
  const std::vector<std::string> all = *paths;
  std::erase_if(*paths, [&](const std::string& path) {
    return std::binary_search(all.begin(), all.end(), XSpacePathFor(path));
  });
}

StatusOr<NewImporter> Configure(const OptionValue&, std::string_view) {
  return NewImporter([](const std::string& input, SampleSink* sink) {
    return std::make_unique<TensorflowImporter>(input, sink);
  });
}

}  // namespace

Format TensorflowFormat() {
  return {.name = "tensorflow",
          .no_samples =
              "a profile has samples only if steps are marked: "
              "tf.profiler.experimental.Trace(\"train\", step_num=N, _r=1), or "
              "jax.profiler.StepTraceAnnotation",
          .wanted = [](const std::string& file_name) { return IsTensorflowProfile(file_name); },
          .expected = "HOST.xplane.pb or HOST.trace.json.gz",
          .deduplicate = RemoveTexts,
          .gzip = true,
          .configure = Configure};
}

}  // namespace pitwall::imports
