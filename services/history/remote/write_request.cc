#include "services/history/remote/write_request.h"

#include <snappy.h>

#include <bit>
#include <cstring>

namespace pitwall::history {
namespace {

// Fields of prompb.WriteRequest: 1 = TimeSeries {1 = Label {1 = name, 2 = value}, 2 = Sample {1 =
// value, 2 = milliseconds}}.
constexpr char kSeries = (1 << 3) | 2;
constexpr char kLabel = (1 << 3) | 2;
constexpr char kSample = (2 << 3) | 2;
constexpr char kName = (1 << 3) | 2;
constexpr char kText = (2 << 3) | 2;
constexpr char kValue = (1 << 3) | 1;
constexpr char kTime = 2 << 3;

void AppendVarint(uint64_t v, std::string* out) {
  for (; v >= 0x80; v >>= 7) out->push_back(static_cast<char>(v | 0x80));
  out->push_back(static_cast<char>(v));
}

size_t VarintSize(uint64_t v) {
  size_t size = 1;
  for (; v >= 0x80; v >>= 7) ++size;
  return size;
}

void AppendField(char tag, std::string_view bytes, std::string* out) {
  out->push_back(tag);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}

void AppendLabelsOf(const Labels& labels, std::string* out) {
  for (const Label& label : labels) {
    out->push_back(kLabel);
    AppendVarint(2 + VarintSize(label.name.size()) + label.name.size() +
                     VarintSize(label.value.size()) + label.value.size(),
                 out);
    AppendField(kName, label.name, out);
    AppendField(kText, label.value, out);
  }
}

void AppendSample(const MirroredSample& sample, std::string* out) {
  const auto time = static_cast<uint64_t>(sample.time_ms);
  out->push_back(kSample);
  AppendVarint(1 + sizeof(uint64_t) + 1 + VarintSize(time), out);
  out->push_back(kValue);
  const auto bits = std::bit_cast<uint64_t>(sample.value);
  for (size_t i = 0; i < sizeof bits; ++i) out->push_back(static_cast<char>(bits >> (8 * i)));
  out->push_back(kTime);
  AppendVarint(time, out);
}

}  // namespace

std::string EncodeWriteRequest(std::span<const MirroredSample> samples) {
  std::string message, series, compressed;
  for (size_t i = 0; i < samples.size();) {
    series.clear();
    const MirroredSeries* of = samples[i].series;
    AppendLabelsOf(of->labels, &series);
    for (; i < samples.size() && samples[i].series == of; ++i) AppendSample(samples[i], &series);
    AppendField(kSeries, series, &message);
  }
  snappy::Compress(message.data(), message.size(), &compressed);
  return compressed;
}

}  // namespace pitwall::history
