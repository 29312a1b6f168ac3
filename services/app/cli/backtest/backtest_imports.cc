// Readers for training logs, as inputs for `pitwall backtest`.
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/cli/backtest/recording_sink.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/imports/gunzip.h"
#include "services/codec/imports/table_reader.h"

namespace pitwall {

StatusOr<ReadInput> TableInput(const Flags& flags) {
  const auto path = flags.One("mapping");
  if (!path)
    return InvalidArgument(
        "--mapping: value is missing; specify --mapping FILE, which maps the columns to series");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(*path));
  ASSIGN_OR_RETURN(const imports::Mapping mapping, imports::ParseMapping(*path, text));
  return ReadInput([mapping](const std::string& input, offline::Recording* recording) -> Status {
    RecordingSink sink(recording);
    imports::TableReader reader(input, mapping, std::string(offline::kJobLabel), &sink);
    imports::Gunzip gunzip(input, [&](std::string_view piece) { return reader.Feed(piece); });
    RETURN_IF_ERROR(
        ForEachPiece(input, [&](std::string_view piece) { return gunzip.Feed(piece); }));
    RETURN_IF_ERROR(gunzip.Finish());
    if (gunzip.cut()) RETURN_IF_ERROR(reader.SkipCutRow());
    return reader.Finish();
  });
}

}  // namespace pitwall
