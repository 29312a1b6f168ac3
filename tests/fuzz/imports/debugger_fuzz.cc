// Fuzzes system metrics and a timeline from SageMaker Debugger.
#include "services/codec/imports/system_metrics.h"
#include "services/codec/imports/traces/job_timeline.h"
#include "tests/fuzz/imports/collected.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckPieces(text, [&](size_t piece, Collected* into) {
    imports::SeriesIndex series(into);
    imports::SystemMetricsReader reader(&series, {.line_bytes = 1 << 12, .rate_rows = 1000});
    reader.BeginFile("fuzz");
    Status status = FeedPieces(text, piece, &reader);
    if (status.ok()) status = reader.EndFile();
    if (status.ok()) status = reader.Finish();
    return std::string(ToStd(status.message()));
  });
  for (const std::string_view kind : {"python", "horovod_"}) {
    CheckPieces(text, [&](size_t piece, Collected* into) {
      imports::SeriesIndex series(into);
      imports::JobTimelineReader reader("fuzz", &series, {.event_bytes = 1 << 12, .events = 1000});
      Status status = reader.BeginFile(Cat("fuzz/1_2-algo-1_", kind, "timeline.json"));
      if (status.ok()) status = FeedPieces(text, piece, &reader);
      if (status.ok()) status = reader.EndFile();
      if (status.ok()) status = reader.Finish();
      return std::string(ToStd(status.message()));
    });
  }
  return 0;
}
