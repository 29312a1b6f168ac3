// Reader of OpenMetrics 1.0 and of Prometheus' text format, both with timestamps, as exporters,
// client libraries, and `promtool tsdb dump-openmetrics` write them. Accepts bytes in pieces of any
// size and emits samples in the order of the file.
//
// Strict without `skipped`. With it, lines with the errors below are skipped and counted, and
// samples of interleaved families are accepted. A file is then rejected only if it has no valid
// sample, is cut short, or continues after # EOF.
//
// Errors, reported with file:line:col:
//  * text that is not UTF-8; a line without a line break, or beyond a limit;
//  * OpenMetrics without `# EOF`, with anything after it, or with comments, empty lines, or blanks
//    that it does not allow;
//  * TYPE, UNIT, or HELP twice or after the family's samples; a family with metadata whose samples
//    are interleaved with another's;
//  * a sample that the type of its family does not allow (a counter without _total, a bucket
//    without le); a value that the type does not allow (a negative counter, an info other than 1);
//  * a duplicate label; `__name__` as a label; a sample without a timestamp.
// Quoted metric and label names (OpenMetrics 2, Prometheus 3) may be any UTF-8.
//
// Consistency across samples is not checked (cumulative buckets, presence of +Inf). Exemplars are
// parsed and dropped. Neither format has native histograms. As in Prometheus, every NaN becomes the
// plain NaN, which is not a marker, and the numbers of `le` and `quantile` of declared histograms
// and summaries get the form of Go's floats (1.0).
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
  // Adds a new label set; `series` counts up from 0.
  virtual Status NewSeries(uint32_t series, Labels labels) = 0;
  // Event time in Unix nanoseconds; `line` counts from 1. An error stops the reader, which prefixes
  // it with file and line.
  virtual Status Sample(uint32_t series, int64_t time_ns, double value, uint32_t line) = 0;
};

// Memory grows with the series of the file, not with its length.
struct ReaderLimits {
  size_t line_bytes = size_t{1} << 20;
  size_t series = 5'000'000;  // label sets, counted per spelling; also families
};

class Reader {
 public:
  // `name` is the file in messages. `sink` and `skipped` are borrowed; `skipped` may be null.
  Reader(std::string name, Dialect dialect, SampleSink* sink, const ReaderLimits& limits = {},
         lenient::SkippedRecords* skipped = nullptr);

  // InvalidArgument: the text is invalid; ResourceExhausted: a limit. Do not read on after an
  // error.
  Status Feed(std::string_view bytes);
  // Ends the file.
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
  std::string rest_;  // of an incomplete line
  uint64_t line_ = 0;
  bool eof_ = false;
  Families families_;
  StringMap<Known> spellings_;  // by the text of the series in the file
  std::string last_spelling_;   // most lines repeat that of the previous line
  Known last_;
  absl::flat_hash_map<Labels, uint32_t> series_;
};

// Detects the dialect by the end of a file: only OpenMetrics ends with `# EOF`.
Dialect DialectOf(std::string_view end_of_file);

}  // namespace pitwall::openmetrics
