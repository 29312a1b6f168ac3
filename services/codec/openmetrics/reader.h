// OpenMetrics 1.0 text whose samples carry timestamps, and Prometheus' text format where it has
// them: what exporters, client libraries and `promtool tsdb dump-openmetrics` write. Bytes come in
// pieces of any size, samples go out in the order of the file.
//
// Strict without `skipped`; with it, lines with the faults below are skipped and counted, samples
// of interleaved families are taken, and only a file without a valid sample, or one that is cut
// short or continues after # EOF, is rejected. Faults, reported with file:line:col: text that is
// not UTF-8; a line without its end, or beyond a limit; OpenMetrics without `# EOF`, or with
// anything after it; comments, empty lines and blanks that OpenMetrics does not have; TYPE, UNIT or
// HELP twice or after the family's samples; a family with metadata whose samples are interleaved
// with another's; a sample that its family's type has not (a counter without _total, a bucket
// without le, …); a label twice,
// `__name__` as a label; a value its type forbids (a negative counter, an info that is not 1);
// a sample without a timestamp. Metric and label names in quotes (OpenMetrics 2, Prometheus 3) may
// be any UTF-8.
// Not checked: what several samples must say together (that buckets grow, that +Inf is there).
// Exemplars are parsed and left out. Native histograms have no text in either format.
// As Prometheus does: every NaN becomes the one NaN that is no marker, and the numbers of `le` and
// `quantile` of families declared as histogram or summary get the form of Go's floats (1.0).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/codec/lenient/skipped_records.h"
#include "services/codec/openmetrics/families.h"
#include "services/codec/openmetrics/line_parser.h"
#include "services/model/labels.h"

namespace pitwall::openmetrics {

class SampleSink {
 public:
  virtual ~SampleSink() = default;
  // A label set that was not there before; `series` counts up from 0.
  virtual Status NewSeries(uint32_t series, Labels labels) = 0;
  // Event time in Unix nanoseconds; `line` counts from 1. An error stops the reader, which puts
  // file and line before it.
  virtual Status Sample(uint32_t series, int64_t time_ns, double value, uint32_t line) = 0;
};

// What is kept grows with the series of the file, not with its length.
struct ReaderLimits {
  size_t line_bytes = size_t{1} << 20;
  size_t series = 5'000'000;  // label sets, in each spelling; also families
};

class Reader {
 public:
  // `name` is the file in messages. `sink` and `skipped` are borrowed; `skipped` may be null.
  Reader(std::string name, Dialect dialect, SampleSink* sink, const ReaderLimits& limits = {},
         lenient::SkippedRecords* skipped = nullptr);

  // InvalidArgument: the text is wrong; ResourceExhausted: a limit. After an error nothing more is
  // read.
  Status Feed(std::string_view bytes);
  // The file ends here.
  Status Finish();

 private:
  struct Known {
    uint32_t series = 0;
    uint32_t family = 0;
    Part part = Part::kPlain;
  };

  Status Take(std::string_view line);
  Status Line(std::string_view line);
  Status Comment(LineParser* line);
  Status Sample(LineParser* line);
  StatusOr<Known> FindSeries(LineParser* line);
  Status Error(std::string_view line, size_t offset, std::string_view what) const;
  Status Exhausted(std::string_view what) const;

  const std::string name_;
  const Dialect dialect_;
  SampleSink* const sink_;
  const ReaderLimits limits_;
  lenient::SkippedRecords* const skipped_;
  std::string rest_;  // of a line whose end has not come yet
  uint64_t line_ = 0;
  bool eof_ = false;
  Families families_;
  StringMap<Known> spellings_;  // by the series' text as it is in the file
  std::string last_spelling_;   // most lines repeat that of the line before
  Known last_;
  absl::flat_hash_map<Labels, uint32_t> series_;
};

// What the end of a file says: OpenMetrics ends with `# EOF`, and nothing else does.
Dialect DialectOf(std::string_view end_of_file);

}  // namespace pitwall::openmetrics
