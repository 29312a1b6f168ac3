#include "services/codec/imports/table_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/log.h"
#include "services/base/text/did_you_mean.h"
#include "services/codec/imports/cells/date_time.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

// Returns a column name in lower case, with only letters and digits and without its unit:
// "Memory.Used [MiB]" becomes "memoryused".
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, name.find_first_of("[("))) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  }
  return plain;
}

}  // namespace

// Fields shared by all metrics in a row.
struct TableReader::Cells {
  const absl::flat_hash_map<std::string_view, std::string_view>& by_column;
  int64_t time_ns = 0;
  int64_t step = kNoStep;
  uint32_t line = 0;

  std::string_view Get(std::string_view column) const {
    const auto found = by_column.find(column);
    return found == by_column.end() ? std::string_view() : Trim(found->second);
  }
  std::string_view Text(const CellOrText& cell) const {
    return cell.column ? Get(cell.text) : std::string_view(cell.text);
  }
};

TableReader::TableReader(std::string name, Mapping mapping, std::string job_label, SampleSink* sink,
                         const RowLimits& limits)
    : name_(name),
      mapping_(std::move(mapping)),
      job_label_(std::move(job_label)),
      series_(sink),
      rows_(
          std::move(name), mapping_.delimiter, mapping_.rows,
          [this](uint32_t line, const Row& row) { return TakeRow(line, row); }, limits) {
  const auto want = [this](std::string_view column) {
    if (!column.empty()) columns_.try_emplace(std::string(column), false);
  };
  want(mapping_.time_column);
  want(mapping_.step_column);
  want(mapping_.job_column);
  want(mapping_.name_column);
  want(mapping_.value_column);
  if (mapping_.mode.column) want(mapping_.mode.text);
  for (const auto& [label, cell] : mapping_.labels) {
    if (cell.column) want(cell.text);
  }
  for (const MappedMetric& metric : mapping_.metrics) want(metric.column);
}

Status TableReader::Finish() {
  const Status rows = rows_.Finish();
  if (!rows.ok() && (!absl::IsInvalidArgument(rows) || rows_.names().empty())) return rows;
  std::vector<std::string> never, empty, twice;
  for (const auto& [column, seen] : columns_) {
    if (rows_.Twice(column)) twice.push_back(Quote(column));
    if (seen) continue;
    rows_.Names(column) ? empty.push_back(Quote(column))
                        : never.push_back(Cat(Quote(column), Similar(column)));
  }
  if (!twice.empty()) {  // columns_ is unordered
    return InvalidArgument(Cat(name_, ":1:1: column ",
                               *std::min_element(twice.begin(), twice.end()), " appears twice"));
  }
  std::sort(empty.begin(), empty.end());
  if (!fed_) return InvalidArgument(Cat(name_, ": the file is empty"));
  if (!empty.empty() && row_ > 0)
    PITWALL_LOG(kWarning, "import", name_, ": skipped columns that are empty in all ", row_,
                " rows: ", Join(empty, ", "));
  if (never.empty()) return rows.ok() ? skipped_cells_.Finish(name_) : rows;
  std::sort(never.begin(), never.end());
  return InvalidArgument(Cat(name_, ": no row has these mapped columns: ", Join(never, ", ")));
}

std::string TableReader::Similar(std::string_view column) const {
  if (column.size() < 3) return "";  // short names resemble too many others
  const std::string wanted = Plain(column);
  for (const std::string& name : rows_.names()) {
    if (Plain(name) == wanted) return Cat(" (did you mean ", Quote(name), "?)");
  }
  const std::vector<std::string_view> names(rows_.names().begin(), rows_.names().end());
  return DidYouMean(column, names);
}

Status TableReader::TakeRow(uint32_t line, const Row& row) {
  absl::flat_hash_map<std::string_view, std::string_view> by_column;
  for (const auto& [padded, cell] : row) {
    const std::string_view column = Trim(padded);
    by_column.try_emplace(column, cell);
    if (const auto wanted = columns_.find(column); wanted != columns_.end()) wanted->second = true;
  }
  Cells cells{by_column};
  cells.line = line;
  RETURN_IF_ERROR(ReadStep(&cells));
  RETURN_IF_ERROR(ReadTime(&cells));
  ++row_;
  if (mapping_.name_column.empty()) {
    for (const MappedMetric& metric : mapping_.metrics)
      RETURN_IF_ERROR(TakeMetric(cells, metric.column, metric));
    return OkStatus();
  }
  const std::string_view name = cells.Get(mapping_.name_column);
  if (name.empty()) return OkStatus();
  MappedMetric metric;
  const auto renamed = mapping_.rename.find(std::string(name));
  metric.name = renamed == mapping_.rename.end() ? std::string(name) : renamed->second;
  return TakeMetric(cells, mapping_.value_column, metric);
}

Status TableReader::ReadStep(Cells* cells) const {
  if (mapping_.step_column.empty()) return OkStatus();
  const std::string_view text = cells->Get(mapping_.step_column);
  if (IsMissingCell(text)) return OkStatus();
  // Some loggers write whole steps as floats, and NaN for a missing step.
  const auto number = ParseDouble(text);
  if (number && std::isnan(*number)) return OkStatus();
  const bool whole = number && *number >= 0 && *number <= static_cast<double>(kMaxStep) &&
                     *number == static_cast<double>(static_cast<int64_t>(*number));
  if (!whole)
    return InvalidArgument(Cat("column ", Quote(mapping_.step_column), ": ", Quote(text),
                               " is not a step (must be a non-negative integer)"));
  cells->step = static_cast<int64_t>(*number);
  return OkStatus();
}

Status TableReader::ReadTime(Cells* cells) const {
  if (mapping_.time_column.empty()) {
    const int64_t count =
        cells->step != kNoStep ? cells->step : static_cast<int64_t>(rows_.rows_before());
    int64_t after = 0;
    if (__builtin_mul_overflow(count, mapping_.every_ns, &after) ||
        __builtin_add_overflow(after, mapping_.start_ns, &cells->time_ns) ||
        cells->time_ns >= kMaxPosition)
      return InvalidArgument(Cat("step ", count, " is out of range"));
    return OkStatus();
  }
  const std::string_view text = cells->Get(mapping_.time_column);
  const auto time = ParseTime(text, mapping_.time_unit, mapping_.zone_s);
  if (!time) {
    const bool date = mapping_.time_unit != TimeUnit::kDateTime && ParseDateTime(text, 0);
    return InvalidArgument(Cat("column ", Quote(mapping_.time_column), ": ",
                               text.empty() ? std::string("empty") : Quote(text),
                               " is not a time in the mapping's unit",
                               date ? "; dates need unit: datetime" : ""));
  }
  cells->time_ns = *time;
  return OkStatus();
}

StatusOr<double> TableReader::Value(std::string_view column, std::string_view text,
                                    const MappedMetric& metric) {
  const auto number = ParseCellNumber(text);
  if (!number)
    return InvalidArgument(Cat("column ", Quote(column), ": ", Quote(text), " is not a number"));
  ColumnUnit& unit = units_[mapping_.name_column.empty() ? std::string(column) : metric.name];
  const auto value = unit.Convert(*number, metric.factor.has_value());
  if (!value)
    return InvalidArgument(Cat("column ", Quote(column), ": ", Quote(text),
                               " has a different unit than the cells above it"));
  return *value * metric.factor.value_or(1);
}

Status TableReader::TakeMetric(const Cells& cells, std::string_view column,
                               const MappedMetric& metric) {
  const std::string_view text = cells.Get(column);
  if (IsMissingCell(text)) return OkStatus();
  const StatusOr<double> value = Value(column, text, metric);
  if (!value.ok())
    return skipped_cells_.SkipInvalid(Annotate(value.status(), Cat(name_, ":", cells.line, ":1")));
  skipped_cells_.Use();
  const bool stepped = metric.step && cells.step != kNoStep;
  const std::string_view mode =
      stepped ? cells.Text(metric.mode ? *metric.mode : mapping_.mode) : std::string_view();
  if (stepped && mode.empty()) return InvalidArgument("the row has a step but no mode");
  std::vector<Label> labels = {{std::string(kMetricName), metric.name}};
  // If the mapping sets the metric's mode, the mode distinguishes its series even without steps.
  const std::string_view shown = stepped || !metric.mode ? mode : cells.Text(*metric.mode);
  if (!shown.empty()) labels.push_back({"mode", std::string(shown)});
  for (const auto* given : {&mapping_.labels, &metric.labels}) {
    for (const auto& [label, cell] : *given) {
      if (const std::string_view found = cells.Text(cell); !found.empty())
        labels.push_back({label, std::string(found)});
    }
  }
  if (!mapping_.job_column.empty()) {
    if (const std::string_view job = cells.Get(mapping_.job_column); !job.empty())
      labels.push_back({job_label_, std::string(job)});
  }
  ASSIGN_OR_RETURN(const uint32_t series, series_.Find(Labels::FromPairs(std::move(labels)), mode));
  return series_.sink()->Sample(series, cells.time_ns, stepped ? cells.step : kNoStep, *value,
                                cells.line);
}

}  // namespace pitwall::imports
