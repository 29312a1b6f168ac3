// Reader for OpenMetrics 1.0 and the Prometheus text format, both with timestamps, as written by
// exporters, client libraries, and `promtool tsdb dump-openmetrics`. Accepts bytes in pieces of any
// size and emits samples in file order.
//
// The reader is strict if `skipped` is null. If `skipped` is set, the reader skips and counts lines
// with one of the errors below, and accepts interleaved families. It then rejects a file only if
// the file has no valid sample, is truncated, or continues after # EOF.
//
// Errors, reported with file:line:col:
//  * text that is not UTF-8; a line without a line break, or over a limit;
//  * OpenMetrics without `# EOF`, with anything after it, or with comments, empty lines, or blanks
//    that the format does not allow;
//  * TYPE, UNIT, or HELP twice or after the family's samples; a family with metadata whose samples
//    are interleaved with those of another family;
//  * a sample that its family's type does not allow (a counter without _total, a bucket without
//    le);
//    a value that the type does not allow (a negative counter, an info other than 1);
//  * a duplicate label; `__name__` as a label; a sample without a timestamp.
// Quoted metric and label names (OpenMetrics 2, Prometheus 3) may contain any UTF-8.
//
// The reader does not check consistency across samples (cumulative buckets, presence of +Inf). It
// parses exemplars and drops them. Neither format has native histograms. As in Prometheus, every
// NaN becomes the plain NaN, which is not a marker. The `le` and `quantile` values of declared
// histograms and summaries are formatted like Go floats (1.0).
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
  // Adds a new label set. `series` numbers are consecutive, starting at 0.
  virtual Status NewSeries(uint32_t series, Labels labels) = 0;
  // Receives one sample. `time_ns` is event time in Unix nanoseconds, and `line` counts from 1. An
  // error stops the reader, which prefixes the error with the file and line.
  virtual Status Sample(uint32_t series, int64_t time_ns, double value, uint32_t line) = 0;
};

// Limits for a reader. Memory grows with the number of series in the file, not with its length.
struct ReaderLimits {
  size_t line_bytes = size_t{1} << 20;
  size_t series = 5'000'000;  // maximum number of distinct label set spellings, and of families
};

class Reader {
 public:
  // `name` is the file name used in messages. `sink` and `skipped` are not owned; `skipped` may be
  // null.
  Reader(std::string name, Dialect dialect, SampleSink* sink, const ReaderLimits& limits = {},
         lenient::SkippedRecords* skipped = nullptr);

  // Reads the next piece. Returns InvalidArgument if the text is invalid, and ResourceExhausted if
  // it exceeds a limit. Do not call Feed again after an error.
  Status Feed(std::string_view bytes);
  // Completes the file and reports truncation.
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
  std::string rest_;  // start of an incomplete line
  uint64_t line_ = 0;
  bool eof_ = false;
  Families families_;
  StringMap<Known> spellings_;  // key: the series as spelled in the file
  std::string last_spelling_;   // most lines repeat the previous line's series
  Known last_;
  absl::flat_hash_map<Labels, uint32_t> series_;
};

// Detects the dialect from the last bytes of a file: only OpenMetrics ends with `# EOF`.
Dialect DialectOf(std::string_view end_of_file);

}  // namespace pitwall::openmetrics
