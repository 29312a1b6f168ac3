// Format csv: training logs in tables, with a mapping of their columns.
#include "services/base/system/files.h"
#include "services/codec/imports/formats/formats.h"
#include "services/codec/imports/mapping.h"
#include "services/codec/imports/table_reader.h"

namespace pitwall::imports {
namespace {

class TableImporter final : public Importer {
 public:
  TableImporter(const std::string& input, const Mapping& mapping, const std::string& job_label,
                SampleSink* sink)
      : reader_(input, mapping, job_label, sink) {}

  Status BeginFile(const std::string&, std::optional<std::string_view>) override {
    return OkStatus();
  }
  Status Feed(std::string_view bytes) override { return reader_.Feed(bytes); }
  Status EndFile(bool cut) override { return cut ? reader_.SkipCutRow() : OkStatus(); }
  Status Finish() override { return reader_.Finish(); }

 private:
  TableReader reader_;
};

StatusOr<NewImporter> Configure(const OptionValue& options, std::string_view job_label) {
  const auto path = options("mapping");
  if (!path)
    return InvalidArgument(
        "--mapping: value is missing; specify --mapping FILE, which maps the columns to series");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(*path));
  ASSIGN_OR_RETURN(const Mapping mapping, ParseMapping(*path, text));
  return NewImporter(
      [mapping, label = std::string(job_label)](const std::string& input, SampleSink* sink) {
        return std::make_unique<TableImporter>(input, mapping, label, sink);
      });
}

}  // namespace

Format CsvFormat() {
  return {.name = "csv",
          .remark = "also JSON",
          .no_samples = "no row has a value in a column that the mapping's metrics name",
          .options = {{"mapping", "FILE", "file that maps columns to series (docs/backtest.md)"}},
          .gzip = true,
          .configure = Configure};
}

}  // namespace pitwall::imports
