// Fuzzes a PyTorch profiler trace, compressed or uncompressed.
#include "services/codec/imports/gunzip.h"
#include "services/codec/imports/traces/chrome_trace.h"
#include "tests/fuzz/imports/collected.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckPieces(text, [&](size_t piece, Collected* into) {
    imports::SeriesIndex series(into);
    imports::ChromeTraceReader reader("fuzz", &series, {.event_bytes = 1 << 12, .events = 1000});
    reader.BeginFile("fuzz");
    imports::Gunzip gunzip("fuzz", [&](std::string_view bytes) { return reader.Feed(bytes); });
    Status status = FeedPieces(text, piece, &gunzip);
    if (status.ok()) status = gunzip.Finish();
    if (status.ok()) status = reader.EndFile();
    if (status.ok()) status = reader.Finish();
    return std::string(ToStd(status.message()));
  });
  return 0;
}
