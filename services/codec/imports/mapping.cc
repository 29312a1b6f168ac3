#include "services/codec/imports/mapping.h"

#include <cmath>

#include "absl/time/time.h"
#include "services/base/epoch_lint.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/yaml.h"
#include "services/codec/imports/cells/date_time.h"
#include "services/codec/openmetrics/line_parser.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::imports {

namespace {

using yaml::Node;
using yaml::Problem;
using yaml::StrictMap;

class MappingReader {
 public:
  StatusOr<Mapping> Read(const Node& root) {
    StrictMap map(root, "the mapping", &problems_);
    ReadTime(map);
    if (const auto cell = ReadCell(map, "step", "the step")) {
      if (!cell->column) map.Add(map.KeyPosition("step"), "\"step\" must name a column");
      mapping_.step_column = cell->text;
    }
    if (auto cell = ReadCell(map, "mode", "the mode")) mapping_.mode = *std::move(cell);
    if (!mapping_.mode.column && mapping_.mode.text.empty())
      map.Add(map.KeyPosition("mode"), "\"mode\" is empty");
    if (const auto cell = ReadCell(map, "job", "the job")) {
      if (!cell->column)
        map.Add(map.KeyPosition("job"), "\"job\" must name a column; --job is for one name");
      mapping_.job_column = cell->text;
    }
    mapping_.labels = ReadLabels(map);
    if (const auto delimiter = map.String("delimiter")) {
      if (delimiter->size() == 1 && *delimiter != "\"" && *delimiter != "\n") {
        mapping_.delimiter = (*delimiter)[0];
      } else {
        map.Add(map.KeyPosition("delimiter"), "\"delimiter\" must be one character");
      }
    }
    mapping_.rows = map.String("rows").value_or("");
    ReadMetrics(map);
    map.Finish();
    RETURN_IF_ERROR(yaml::ToStatus(root, problems_));
    return std::move(mapping_);
  }

 private:
  void ReadTime(StrictMap& map) {
    const Node* time = map.Get("time");
    if (time == nullptr) {
      map.Add(map.KeyPosition("time"), "the mapping needs \"time\"");
      return;
    }
    StrictMap fields(*time, "time", &problems_);
    mapping_.time_column = Trim(fields.String("column").value_or(""));
    if (const auto unit = fields.String("unit")) {
      constexpr std::string_view kUnits[] = {"s", "ms", "us", "ns", "rfc3339", "datetime"};
      bool known = false;
      for (size_t i = 0; i < std::size(kUnits); ++i) {
        if (*unit != kUnits[i]) continue;
        mapping_.time_unit = static_cast<TimeUnit>(i);
        known = true;
      }
      if (!known)
        fields.Add(
            fields.KeyPosition("unit"),
            Cat("\"unit\" must be s, ms, us, ns, rfc3339, or datetime, found ", Quote(*unit)));
    }
    ReadZone(fields);
    const auto start = fields.String("start");
    const auto every = fields.Duration("every");
    if (mapping_.time_column.empty()) {
      const auto begin = start ? ParseTime(*start, TimeUnit::kRfc3339) : std::nullopt;
      const auto seconds = start ? ParseTime(*start, TimeUnit::kSeconds) : std::nullopt;
      const auto doubt = start ? DateTakenForSeconds(*start) : std::nullopt;
      if (doubt) {
        fields.Add(fields.KeyPosition("start"), Cat("\"start\" ", *start, ": ", *doubt));
      } else if (!begin && !seconds) {
        fields.Add(time->position(), "\"time\" needs a column, or start and every");
      } else {
        mapping_.start_ns = begin ? *begin : *seconds;
      }
      if (!every || *every <= 0) {
        if (begin || seconds) fields.Add(time->position(), "\"every\" must be longer than 0");
      } else {
        mapping_.every_ns = *every;
      }
    } else if (start || every) {
      fields.Add(time->position(), "\"time\" has a column: start and every are for logs without");
    }
    fields.Finish();
  }

  void ReadZone(StrictMap& fields) {
    const auto zone = fields.String("zone");
    if (!zone) return;
    const auto seconds = ParseZone(*zone);
    if (!seconds)
      fields.Add(fields.KeyPosition("zone"),
                 Cat("\"zone\" must be UTC or an offset like +09:00, found ", Quote(*zone)));
    if (mapping_.time_unit != TimeUnit::kDateTime)
      fields.Add(fields.KeyPosition("zone"), "\"zone\" is for unit: datetime");
    mapping_.zone_s = seconds.value_or(0);
  }

  std::optional<CellOrText> ReadCell(const Node& node, std::string_view what) {
    if (node.IsScalar()) return CellOrText{false, node.scalar()};
    StrictMap fields(node, what, &problems_);
    const auto column = fields.String("column");
    if (!column || column->empty())
      fields.Add(node.position(), Cat(what, " must be a string or {column: NAME}"));
    fields.Finish();
    return CellOrText{true, std::string(Trim(column.value_or("")))};
  }
  std::optional<CellOrText> ReadCell(StrictMap& map, std::string_view key, std::string_view what) {
    const Node* node = map.Get(key);
    if (node == nullptr) return std::nullopt;
    return ReadCell(*node, what);
  }

  std::vector<std::pair<std::string, CellOrText>> ReadLabels(StrictMap& map) {
    std::vector<std::pair<std::string, CellOrText>> labels;
    const Node* node = map.Get("labels");
    if (node == nullptr) return labels;
    if (!node->IsMap()) {
      map.Add(node->position(), Cat("\"labels\": expected a map, found ", node->KindName()));
      return labels;
    }
    for (const Node::Entry& entry : node->entries()) {
      if (entry.key.empty() || entry.key == kMetricName)
        map.Add(entry.key_position, Cat("invalid label name: ", Quote(entry.key)));
      if (auto cell = ReadCell(entry.value, "a label")) labels.emplace_back(entry.key, *cell);
    }
    return labels;
  }

  void ReadMetrics(StrictMap& map) {
    const Node* metrics = map.Get("metrics");
    if (metrics == nullptr) {
      map.Add(map.KeyPosition("metrics"), "the mapping needs \"metrics\"");
      return;
    }
    if (metrics->IsMap()) {
      StrictMap fields(*metrics, "metrics", &problems_);
      for (const auto& [key, column] :
           {std::pair{"name", &mapping_.name_column}, std::pair{"value", &mapping_.value_column}}) {
        const auto cell = ReadCell(fields, key, key);
        if (!cell || !cell->column)
          fields.Add(metrics->position(), Cat("\"", key, "\" must name a column"));
        if (cell) *column = cell->text;
      }
      for (const auto& [from, to] : fields.Scalars("rename"))
        mapping_.rename.emplace(from, to->scalar());
      fields.Finish();
      return;
    }
    for (const Node& node : metrics->items()) {
      MappedMetric& metric = mapping_.metrics.emplace_back();
      StrictMap fields(node, "a metric", &problems_);
      metric.column = Trim(fields.String("column").value_or(""));
      metric.name = fields.String("name").value_or(metric.column);
      if (metric.column.empty()) fields.Add(node.position(), "a metric needs \"column\"");
      metric.factor = fields.Number("factor");
      if (metric.factor && (!std::isfinite(*metric.factor) || *metric.factor == 0))
        fields.Add(fields.KeyPosition("factor"), "\"factor\" must be a finite number other than 0");
      metric.labels = ReadLabels(fields);
      metric.mode = ReadCell(fields, "mode", "the mode");
      if (metric.mode && !metric.mode->column && metric.mode->text.empty())
        fields.Add(fields.KeyPosition("mode"), "\"mode\" is empty");
      metric.step = fields.Bool("step").value_or(true);
      fields.Finish();
    }
    if (mapping_.metrics.empty()) map.Add(metrics->position(), "\"metrics\" is empty");
  }

  Mapping mapping_;
  std::vector<Problem> problems_;
};

}  // namespace

StatusOr<Mapping> ParseMapping(std::string_view file_name, std::string_view text) {
  ASSIGN_OR_RETURN(const Node root, yaml::ParseYaml(file_name, text));
  return MappingReader().Read(root);
}

std::optional<int64_t> ParseTime(std::string_view text, TimeUnit unit, int32_t zone_s) {
  text = Trim(text);
  if (unit == TimeUnit::kDateTime) return ParseDateTime(text, zone_s);
  if (unit == TimeUnit::kRfc3339) {
    absl::Time time;
    std::string wrong;
    if (!absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &wrong)) return std::nullopt;
    const int64_t nanos = absl::ToUnixNanos(time);
    if (nanos <= kMinPosition || nanos >= kMaxPosition) return std::nullopt;
    return nanos;
  }
  if (unit == TimeUnit::kSeconds) return openmetrics::ParseSeconds(text);
  int64_t scale = 1;
  if (unit == TimeUnit::kMillis) scale = 1'000'000;
  if (unit == TimeUnit::kMicros) scale = 1'000;
  // Integers are converted exactly. Fractions have the precision of a double.
  if (const auto whole = ParseInt(text)) {
    int64_t nanos = 0;
    if (__builtin_mul_overflow(*whole, scale, &nanos)) return std::nullopt;
    if (nanos <= kMinPosition || nanos >= kMaxPosition) return std::nullopt;
    return nanos;
  }
  const auto number = ParseDouble(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  const double nanos = *number * static_cast<double>(scale);
  if (std::fabs(nanos) >= 9.2e18) return std::nullopt;
  const auto rounded = static_cast<int64_t>(std::llround(nanos));
  if (rounded <= kMinPosition || rounded >= kMaxPosition) return std::nullopt;
  return rounded;
}

}  // namespace pitwall::imports
