// Fuzzes a sample file in either dialect. The result must be an error with a file name and line, or
// samples. The result must be the same for any piece size, and samples written in one notation must
// parse to the same samples.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/codec/openmetrics/reader.h"

namespace {

using namespace pitwall;

struct Read {
  uint32_t series;
  int64_t time;
  uint64_t bits;
  friend bool operator==(const Read&, const Read&) = default;
};

class Collected final : public openmetrics::SampleSink {
 public:
  Status NewSeries(uint32_t index, Labels labels) override {
    PITWALL_CHECK(index == series.size());
    PITWALL_CHECK(!labels.Name().empty());
    series.push_back(std::move(labels));
    return OkStatus();
  }
  Status Sample(uint32_t index, int64_t time_ns, double value, uint32_t line) override {
    PITWALL_CHECK(index < series.size() && line > 0);
    samples.push_back({index, time_ns, std::bit_cast<uint64_t>(value)});
    return OkStatus();
  }
  std::vector<Labels> series;
  std::vector<Read> samples;
};

std::string ReadIn(std::string_view text, size_t piece, openmetrics::Dialect dialect,
                   Collected* into) {
  openmetrics::Reader reader("fuzz", dialect, into, {.line_bytes = 1 << 16, .series = 1000});
  Status status;
  for (size_t i = 0; i < text.size() && status.ok(); i += piece)
    status = reader.Feed(text.substr(i, piece));
  if (status.ok()) status = reader.Finish();
  return std::string(ToStd(status.message()));
}

// Writes all names quoted and all times with nine decimal digits.
std::string Write(const Collected& read) {
  const auto quoted = [](std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out + "\"";
  };
  std::string out;
  for (const Read& sample : read.samples) {
    const Labels& labels = read.series[sample.series];
    CatTo(out, "{", quoted(labels.Name()));
    for (const Label& label : labels) {
      if (label.name != kMetricName) CatTo(out, ",", quoted(label.name), "=", quoted(label.value));
    }
    const uint64_t nanos = static_cast<uint64_t>(sample.time < 0 ? -sample.time : sample.time);
    char time[64];
    std::snprintf(time, sizeof(time), "%s%llu.%09llu", sample.time < 0 ? "-" : "",
                  static_cast<unsigned long long>(nanos / 1'000'000'000),
                  static_cast<unsigned long long>(nanos % 1'000'000'000));
    CatTo(out, "} ", FormatDouble(std::bit_cast<double>(sample.bits)), " ", time, "\n");
  }
  return out + "# EOF\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto dialect :
       {openmetrics::Dialect::kOpenMetrics, openmetrics::Dialect::kPrometheusText}) {
    Collected whole;
    const std::string error = ReadIn(text, size + 1, dialect, &whole);
    PITWALL_CHECK(error.empty() || StartsWith(error, "fuzz:"));
    Collected pieces;
    PITWALL_CHECK(ReadIn(text, 1 + size % 7, dialect, &pieces) == error);
    PITWALL_CHECK(pieces.series == whole.series && pieces.samples == whole.samples);
    if (!error.empty()) continue;
    const std::string written = Write(whole);
    Collected again;
    const std::string why =
        ReadIn(written, written.size(), openmetrics::Dialect::kOpenMetrics, &again);
    if (!why.empty()) std::fprintf(stderr, "%s\n%s", written.c_str(), why.c_str());
    PITWALL_CHECK(why.empty());
    // Series without samples are not written.
    PITWALL_CHECK(again.samples.size() == whole.samples.size());
    for (size_t i = 0; i < again.samples.size(); ++i) {
      PITWALL_CHECK(again.series[again.samples[i].series] == whole.series[whole.samples[i].series]);
      PITWALL_CHECK(again.samples[i].time == whole.samples[i].time);
      PITWALL_CHECK(again.samples[i].bits == whole.samples[i].bits);
    }
  }
  return 0;
}
