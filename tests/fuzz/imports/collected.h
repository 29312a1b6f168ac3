// Results collected from a reader, for comparison with its results for the same bytes in pieces of
// a different size.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/sample_sink.h"
#include "services/model/position.h"

namespace pitwall {

class Collected final : public imports::SampleSink {
 public:
  Status NewSeries(uint32_t series, Labels labels, std::string_view mode) override {
    PITWALL_CHECK(series == modes_.size());
    PITWALL_CHECK(!labels.Name().empty());
    modes_.emplace_back(mode);
    return OkStatus();
  }
  Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value,
                uint32_t line) override {
    PITWALL_CHECK(series < modes_.size() && line > 0);
    PITWALL_CHECK((step == kNoStep) == modes_[series].empty());
    PITWALL_CHECK(step >= kNoStep && step <= kMaxStep);
    PITWALL_CHECK(time_ns > kMinPosition && time_ns < kMaxPosition);
    samples_.emplace_back(series, time_ns, step, std::bit_cast<uint64_t>(value));
    return OkStatus();
  }
  friend bool operator==(const Collected& a, const Collected& b) {
    return a.modes_ == b.modes_ && a.samples_ == b.samples_;
  }

 private:
  std::vector<std::string> modes_;
  std::vector<std::tuple<uint32_t, int64_t, int64_t, uint64_t>> samples_;
};

// `read(piece, sink)` returns an error message. An error must contain the file name "fuzz" and be
// the same for any piece size.
template <typename Read>
void CheckPieces(std::string_view text, const Read& read) {
  Collected whole, pieces;
  const std::string error = read(text.size() + 1, &whole);
  PITWALL_CHECK(error.empty() || error.find("fuzz") != std::string::npos);
  PITWALL_CHECK(read(1 + text.size() % 7, &pieces) == error);
  PITWALL_CHECK(whole == pieces);
}

template <typename Reader>
Status FeedPieces(std::string_view text, size_t piece, Reader* reader) {
  Status status;
  for (size_t i = 0; i < text.size() && status.ok(); i += piece)
    status = reader->Feed(text.substr(i, piece));
  return status;
}

}  // namespace pitwall
