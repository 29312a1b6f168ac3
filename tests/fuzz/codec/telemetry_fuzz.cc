// Fuzzes a record of pitwall.telemetry. The record must be rejected with a reason, or survive
// re-encoding.
#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/check.h"
#include "services/codec/telemetry_codec.h"

using pitwall::codec::BatchDecoder;
using pitwall::codec::BatchEncoder;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto& decoder = *new BatchDecoder();
  static auto& second = *new BatchDecoder();
  static auto& encoder = *new BatchEncoder();
  const auto decoded = decoder.Decode(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!decoded.ok()) {
    PITWALL_CHECK(!decoded.status().message().empty());
    return 0;
  }
  if (decoded->batch == nullptr) {
    PITWALL_CHECK(decoded->control != nullptr);
    return 0;
  }
  double sum = 0;
  for (const pitwall::Frame& frame : decoded->batch->frames) {
    for (double value : frame.values) sum += value;
    for (int64_t time : frame.times) sum += static_cast<double>(time);
    for (int64_t step : frame.steps) sum += static_cast<double>(step);
  }
  volatile double sink = sum;
  (void)sink;
  std::string bytes, again;
  encoder.Encode(*decoded->batch, &bytes);
  const auto twice = second.Decode(bytes);
  PITWALL_CHECK(twice.ok() && twice->batch != nullptr);
  encoder.Encode(*twice->batch, &again);
  PITWALL_CHECK(bytes == again);
  return 0;
}
