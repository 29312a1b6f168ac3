// Reader output as text, for the tests in this folder.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/codec/imports/sample_sink.h"

namespace pitwall::imports {

class TestSamples final : public SampleSink {
 public:
  Status NewSeries(uint32_t series, Labels labels, std::string_view mode) override {
    if (series != names_.size()) return Internal("series are not counted up");
    names_.push_back(Cat(labels.ToString(), mode.empty() ? "" : " ", mode));
    return OkStatus();
  }
  Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value,
                uint32_t line) override {
    if (series >= names_.size() || line == 0) return Internal("no such series or line");
    all_.push_back(Cat(names_[series], " @", FormatDouble(static_cast<double>(time_ns) / 1e6), "ms",
                       step == kNoStep ? "" : Cat(" #", step), " ", FormatDouble(value)));
    return OkStatus();
  }

  // Returns the samples whose text starts with `begin`, sorted.
  std::vector<std::string> Of(std::string_view begin) const {
    std::vector<std::string> found;
    for (const std::string& sample : all_) {
      if (StartsWith(sample, begin)) found.push_back(sample);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  size_t size() const { return all_.size(); }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> all_;
};

}  // namespace pitwall::imports
