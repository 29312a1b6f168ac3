#include "services/app/cli/history/query_text.h"

#include <algorithm>
#include <cmath>

#include "services/base/text/strings.h"
#include "services/model/labels.h"

namespace pitwall::history_client {
namespace {

Status MalformedQuery() {
  return absl::DataLossError("response is not in the format of the Prometheus query API");
}

// Parses a point of the form [time in seconds, "value"].
bool ReadPoint(const Json& point, int64_t* time_ns, double* value) {
  if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_string())
    return false;
  *time_ns = std::llround(point[0].get<double>() * 1000) * 1'000'000;
  const auto number = ParseDouble(point[1].get_ref<const std::string&>());
  *value = number.value_or(0);
  return number.has_value();
}

std::string Right(std::string_view text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + std::string(text);
}

std::string Columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t c = 0; c + 1 < row.size(); ++c) CatTo(out, Right(row[c], widths[c]), "  ");
    CatTo(out, row.back(), "\n");
  }
  return out;
}

std::string SummaryTable(const std::vector<Curve>& curves) {
  std::vector<std::vector<std::string>> rows = {
      {"points", "least", "mean", "greatest", "last", "series"}};
  for (const Curve& curve : curves) {
    double least = NAN, greatest = NAN, sum = 0;
    size_t count = 0;
    for (const auto& [time, value] : curve.points) {
      if (std::isnan(value)) continue;
      least = count == 0 ? value : std::min(least, value);
      greatest = count == 0 ? value : std::max(greatest, value);
      sum += value;
      ++count;
    }
    const double mean = count == 0 ? NAN : sum / static_cast<double>(count);
    rows.push_back(
        {Cat(curve.points.size()), ShortNumber(least), ShortNumber(mean), ShortNumber(greatest),
         curve.points.empty() ? "" : ShortNumber(curve.points.back().second), curve.name});
  }
  return Columns(rows);
}

std::string PointTable(const std::vector<Curve>& curves) {
  std::string out;
  for (const Curve& curve : curves) {
    CatTo(out, curve.name, "\n");
    for (const auto& [time, value] : curve.points)
      CatTo(out, "  ", ShortTime(time), "  ", FormatDouble(value), "\n");
  }
  return out;
}

}  // namespace

StatusOr<Json> QueryData(Json answer) {
  if (!answer.is_object() || answer.value("status", "") != "success" || !answer.contains("data") ||
      !answer["data"].is_object() || !answer["data"].contains("resultType") ||
      !answer["data"].contains("result"))
    return MalformedQuery();
  return std::move(answer["data"]);
}

std::string SeriesText(const Json& metric) {
  std::vector<Label> pairs;
  if (metric.is_object()) {
    for (const auto& [name, value] : metric.items()) {
      if (value.is_string()) pairs.push_back({name, value.get<std::string>()});
    }
  }
  return Labels::FromPairs(std::move(pairs)).ToString();
}

StatusOr<std::vector<Curve>> CurvesOf(const Json& data) {
  if (data.value("resultType", "") != "matrix")
    return InvalidArgument("--plot: requires a range query; specify --start, --end, or --step");
  std::vector<Curve> curves;
  for (const Json& series : data["result"]) {
    Curve curve;
    if (!series.is_object()) return MalformedQuery();
    curve.name = SeriesText(series.value("metric", Json::object()));
    for (const Json& point : series.value("values", Json::array())) {
      int64_t time_ns = 0;
      double value = 0;
      if (!ReadPoint(point, &time_ns, &value)) return MalformedQuery();
      curve.points.emplace_back(time_ns, value);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

StatusOr<std::string> QueryTable(const Json& data, bool points) {
  const std::string type = data.value("resultType", "");
  const Json& result = data["result"];
  if (type == "matrix") {
    ASSIGN_OR_RETURN(const std::vector<Curve> curves, CurvesOf(data));
    return points ? PointTable(curves) : SummaryTable(curves);
  }
  if (type == "string" && result.is_array() && result.size() == 2)
    return Cat(result[1].get<std::string>(), "\n");
  int64_t time_ns = 0;
  double value = 0;
  if (type == "scalar") {
    if (!ReadPoint(result, &time_ns, &value)) return MalformedQuery();
    return Cat(FormatDouble(value), "\n");
  }
  if (type != "vector" || !result.is_array()) return MalformedQuery();
  std::vector<std::vector<std::string>> rows;
  for (const Json& series : result) {
    if (!series.is_object() || !series.contains("value") ||
        !ReadPoint(series["value"], &time_ns, &value))
      return MalformedQuery();
    rows.push_back({FormatDouble(value), SeriesText(series.value("metric", Json::object()))});
  }
  return Columns(rows);
}

}  // namespace pitwall::history_client
