#include "services/offline/promqltest/golden_points.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/offline/series_notation.h"
#include "services/offline/value_notation.h"

namespace pitwall::offline {

namespace {

constexpr std::string_view kBlank = " \t";
constexpr std::string_view kStartTimestamps = "@st";

// Returns the position where the points of a series start: after the closing brace or at the first
// blank.
StatusOr<size_t> SeriesEnd(std::string_view text) {
  size_t at = text.find_first_of("{ \t");
  if (at == std::string_view::npos) return text.size();
  if (text[at] != '{') return at;
  char quote = 0;
  for (++at; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\' && quote != '`') {
        ++at;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'' || c == '`') {
      quote = c;
    } else if (c == '}') {
      return at + 1;
    }
  }
  return InvalidArgument(Cat(Quote(text), ": unterminated brace or quote"));
}

// Parses a series. Any name may precede the brace, including the name of an aggregation, and is
// handled like a quoted name.
StatusOr<Labels> ParseLabels(std::string_view text) {
  const size_t brace = text.find('{');
  const std::string_view name = text.substr(0, brace);
  const std::string_view inside =
      brace == std::string_view::npos ? "" : Trim(text.substr(brace + 1, text.size() - brace - 2));
  if (name.empty() && inside.empty()) return Labels();
  if (name.empty()) return ParseSeries(text);
  for (const char c : name) {
    if (c != '_' && c != ':' && c != '.' && !std::isalnum(static_cast<unsigned char>(c)))
      return InvalidArgument(Cat(Quote(name), " is not a valid metric name"));
  }
  return ParseSeries(Cat("{\"", name, "\"", inside.empty() ? "" : ",", inside, "}"));
}

// Removes the next item from `rest` and returns it. Items are separated by blanks, but a histogram
// item may contain blanks.
std::string_view NextItem(std::string_view* rest) {
  const size_t begin = std::min(rest->find_first_not_of(kBlank), rest->size());
  size_t end = begin;
  while (end < rest->size() && kBlank.find((*rest)[end]) == std::string_view::npos) {
    if (rest->substr(end, 2) == "{{") {
      const size_t close = rest->find("}}", end);
      end = close == std::string_view::npos ? rest->size() : close + 2;
    } else {
      ++end;
    }
  }
  const std::string_view item = rest->substr(begin, end - begin);
  rest->remove_prefix(end);
  return item;
}

Status AppendHistograms(std::string_view item, std::vector<GoldenPoint>* points) {
  size_t count = 1;
  std::string_view body = item;
  if (const size_t end = item.rfind("}}"); end == std::string_view::npos) {
    return InvalidArgument("native histogram must end with }}");
  } else if (std::string_view tail = item.substr(end + 2); !tail.empty()) {
    ASSIGN_OR_RETURN(const auto repeat, CutCount(&tail));
    if (!repeat.has_value() || !tail.empty())
      return InvalidArgument("only a count may follow a native histogram");
    count = *repeat + 1;
    body = item.substr(0, end + 2);
  }
  const size_t first = body.find("}}") + 2;
  if (first != body.size() &&
      (body.size() < first + 5 || (body[first] != '+' && body[first] != '-') ||
       body.substr(first + 1, 2) != "{{")) {
    return InvalidArgument("native histograms must be separated by + or -");
  }
  points->insert(points->end(), count, {GoldenPoint::Kind::kHistogram, 0});
  return OkStatus();
}

Status AppendItem(std::string_view item, std::vector<GoldenPoint>* points) {
  using Kind = GoldenPoint::Kind;
  if (StartsWith(item, "{{")) return AppendHistograms(item, points);
  std::vector<std::optional<double>> values;
  RETURN_IF_ERROR(AppendValues(item, &values));
  for (const std::optional<double>& value : values)
    points->push_back(value.has_value() ? GoldenPoint{Kind::kValue, *value} : GoldenPoint());
  return OkStatus();
}

// Parses a start-timestamp item, such as the offset `-30s`, `-1m-1mx2`, or `0s`. Returns the number
// of points that the item covers.
StatusOr<size_t> CountOffsets(std::string_view item) {
  std::string_view body = item;
  ASSIGN_OR_RETURN(const std::optional<size_t> repeat, CutCount(&body));
  if (body == "_") return repeat.value_or(1);
  const size_t sign = StepSign(body);
  const auto offset = [](std::string_view text) {
    const bool is_signed = !text.empty() && (text.front() == '-' || text.front() == '+');
    return ParseDuration(text.substr(is_signed ? 1 : 0)).status();
  };
  RETURN_IF_ERROR(offset(body.substr(0, sign)));
  if (sign != std::string_view::npos) RETURN_IF_ERROR(offset(body.substr(sign)));
  return repeat.value_or(0) + 1;
}

// Returns the position of the marker in a start-timestamp line. The marker directly follows the
// series.
std::optional<size_t> StartMark(std::string_view text) {
  const auto end = SeriesEnd(text);
  if (!end.ok()) return std::nullopt;
  if (StartsWith(text.substr(*end), kStartTimestamps)) return *end;
  if (EndsWith(text.substr(0, *end), kStartTimestamps)) return *end - kStartTimestamps.size();
  return std::nullopt;
}

}  // namespace

bool GoldenSeries::HasHistogram() const {
  return std::any_of(points.begin(), points.end(), [](const GoldenPoint& point) {
    return point.kind == GoldenPoint::Kind::kHistogram;
  });
}

StatusOr<std::vector<GoldenPoint>> ParseGoldenPoints(std::string_view text) {
  std::vector<GoldenPoint> points;
  for (std::string_view item = NextItem(&text); !item.empty(); item = NextItem(&text)) {
    RETURN_IF_ERROR(Annotate(AppendItem(item, &points), Quote(item)));
    if (points.size() > kMaxValues)
      return InvalidArgument(Cat(Quote(item), ": too many points (limit ", kMaxValues, ")"));
  }
  return points;
}

StatusOr<GoldenSeries> ParseGoldenSeries(std::string_view text) {
  GoldenSeries series;
  ASSIGN_OR_RETURN(const size_t end, SeriesEnd(text));
  ASSIGN_OR_RETURN(series.labels, ParseLabels(text.substr(0, end)));
  const std::string_view points = text.substr(end);
  if (!points.empty() && kBlank.find(points.front()) == std::string_view::npos)
    return InvalidArgument(Cat(Quote(points), ": series and points must be separated by a space"));
  ASSIGN_OR_RETURN(series.points, ParseGoldenPoints(points));
  return series;
}

bool IsStartTimestampLine(std::string_view text) { return StartMark(text).has_value(); }

StatusOr<GoldenSeries> ParseStartTimestamps(std::string_view text) {
  const std::optional<size_t> mark = StartMark(text);
  if (!mark.has_value()) return InvalidArgument(Cat(Quote(text), " has no start timestamps"));
  GoldenSeries series;
  series.start_timestamps = true;
  ASSIGN_OR_RETURN(series.labels, ParseLabels(text.substr(0, *mark)));
  std::string_view rest = text.substr(*mark + kStartTimestamps.size());
  for (std::string_view item = NextItem(&rest); !item.empty(); item = NextItem(&rest)) {
    const auto count = CountOffsets(item);
    RETURN_IF_ERROR(Annotate(count.status(), Quote(item)));
    series.points.insert(series.points.end(), *count, GoldenPoint());
    if (series.points.size() > kMaxValues)
      return InvalidArgument(Cat(Quote(item), ": too many points (limit ", kMaxValues, ")"));
  }
  return series;
}

}  // namespace pitwall::offline
