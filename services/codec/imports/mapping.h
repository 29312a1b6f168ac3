// Mapping from the columns of a training log to samples; the file passed to `backtest --mapping`.
//
//   time: {column: timestamp, unit: s}       # s, ms, us, ns, rfc3339, or datetime (default: s)
//   time: {column: timestamp, unit: datetime, zone: "+09:00"}   # 2026/11/27 06:00:00.123; UTC
//   # Logs without times: start plus `every` times the step (or the row, without a step).
//   time: {start: 2026-01-01T00:00:00Z, every: 1s}
//   step: {column: step}                # absent: samples have no step
//   mode: eval                          # or {column: split}; default for rows with a step: train
//   job: {column: run}                  # default: --job, else the file name
//   labels: {rank: {column: rank}, node: a}  # added to every series
//   delimiter: ";"                      # CSV delimiter; default: ","
//   rows: log_history                   # JSON: path to the list of rows in the document
//   metrics:                            # one column per metric …
//   - {column: loss, name: train_loss}
//   - {column: gpu0, name: hw_gpu_utilization_ratio, factor: 0.01, labels: {gpu: "0"}, step: false}
//   - {column: eval_loss, name: train_loss, mode: eval}
//   # … or one row per sample
//   metrics: {name: {column: key}, value: {column: value}, rename: {loss: train_loss}}
//
// Nested JSON keys are joined with dots: {"metrics": {"loss": 1}} has the column metrics.loss.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::imports {

// Value that is either read from a column or constant for all rows.
struct CellOrText {
  bool column = false;
  std::string text;  // column name or constant value
};

enum class TimeUnit { kSeconds, kMillis, kMicros, kNanos, kRfc3339, kDateTime };

struct MappedMetric {
  std::string column;
  std::string name;
  // Factor for numbers in the column's own unit. Without a factor, numbers with a unit (45 %, 1234
  // MiB) are converted to base units (0.45, bytes).
  std::optional<double> factor;
  std::vector<std::pair<std::string, CellOrText>> labels;
  std::optional<CellOrText> mode;
  bool step = true;  // if true, samples get the step of their row, if any
};

struct Mapping {
  std::string time_column;  // if empty, times are computed from start_ns and every_ns
  TimeUnit time_unit = TimeUnit::kSeconds;
  int32_t zone_s = 0;  // UTC offset of datetimes without a time zone, in seconds east
  int64_t start_ns = 0;
  int64_t every_ns = 0;
  std::string step_column;  // if empty, samples have no step
  CellOrText mode{false, "train"};
  std::string job_column;
  std::vector<std::pair<std::string, CellOrText>> labels;
  char delimiter = ',';
  std::string rows;
  std::vector<MappedMetric> metrics;
  // Columns for the layout with one row per sample. Both are empty if each metric has its own
  // column.
  std::string name_column, value_column;
  std::map<std::string, std::string> rename;
};

// Parses a mapping file. Returns InvalidArgument with all errors, each prefixed with file:line:col.
StatusOr<Mapping> ParseMapping(std::string_view file_name, std::string_view text);

// Parses the cell as event time. Returns nullopt if the cell is malformed or out of range.
std::optional<int64_t> ParseTime(std::string_view text, TimeUnit unit, int32_t zone_s = 0);

}  // namespace pitwall::imports
