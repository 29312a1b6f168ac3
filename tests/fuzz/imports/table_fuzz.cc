// Fuzzes the import of training logs. The input is a mapping, a NUL, and a log. Input without a NUL
// is a log with a fixed mapping.
#include "services/codec/imports/table_reader.h"
#include "tests/fuzz/imports/collected.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view given =
      "time: {column: ts, unit: ms}\nstep: {column: step}\nmetrics:\n- {column: loss}\n";
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    given = text.substr(0, nul);
    text.remove_prefix(nul + 1);
  }
  const auto mapping = imports::ParseMapping("fuzz.yaml", given);
  if (!mapping.ok()) {
    PITWALL_CHECK(StartsWith(ToStd(mapping.status().message()), "fuzz.yaml:"));
    return 0;
  }
  CheckPieces(text, [&](size_t piece, Collected* into) {
    imports::TableReader reader("fuzz", *mapping, "job", into,
                                {.row_bytes = 1 << 14, .document_bytes = 1 << 16, .columns = 100});
    Status status = FeedPieces(text, piece, &reader);
    if (status.ok()) status = reader.Finish();
    return std::string(ToStd(status.message()));
  });
  return 0;
}
