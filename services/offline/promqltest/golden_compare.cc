#include "services/offline/promqltest/golden_compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "services/base/almost_equal.h"
#include "services/base/text/strings.h"
#include "services/model/matcher.h"
#include "services/model/value.h"

namespace pitwall::offline {

namespace {

using Kind = GoldenPoint::Kind;
using Series = std::map<Labels, std::vector<GoldenPoint>>;

std::string Text(const GoldenPoint& point) {
  if (point.kind == Kind::kGap) return "_";
  if (point.kind == Kind::kHistogram) return "{{…}}";
  return IsStale(point.value) ? "stale" : FormatDouble(point.value);
}

std::string Line(const Labels& labels, const std::vector<GoldenPoint>& points) {
  std::string line = labels.ToString();
  for (const GoldenPoint& point : points) CatTo(line, " ", Text(point));
  return line;
}

const GoldenSeries* Find(const EvalCommand& eval, const Labels& labels) {
  const auto found = std::find_if(eval.series.begin(), eval.series.end(),
                                  [&](const auto& series) { return series.labels == labels; });
  return found == eval.series.end() ? nullptr : &*found;
}

// Returns false if a tick has two elements with equal labels, because they do not form a series.
bool ToSeries(const QueryAnswer& answer, Series* out) {
  for (size_t tick = 0; tick < answer.ticks.size(); ++tick) {
    for (const QueryElement& element : answer.ticks[tick].elements) {
      std::vector<GoldenPoint>& points = (*out)[element.labels];
      points.resize(answer.ticks.size());
      if (points[tick].present()) return false;
      points[tick] = {Kind::kValue, element.value};
    }
  }
  return true;
}

std::string ComparePoints(const GoldenSeries& expected, const std::vector<GoldenPoint>& got,
                          const QueryAnswer& answer) {
  if (expected.points.size() > got.size()) {
    return Cat(expected.labels.ToString(), " is expected to have ", expected.points.size(),
               " points, but the query has ", got.size(), " ticks");
  }
  for (size_t tick = 0; tick < got.size(); ++tick) {
    const GoldenPoint want = tick < expected.points.size() ? expected.points[tick] : GoldenPoint();
    if (want.kind == got[tick].kind &&
        (!want.present() || AlmostEqual(want.value, got[tick].value)))
      continue;
    return Cat(expected.labels.ToString(), " at ",
               FormatDouble(static_cast<double>(answer.ticks[tick].position) / 1e9), "s is ",
               Text(got[tick]), ", not ", Text(want));
  }
  return {};
}

}  // namespace

bool AlmostEqual(double a, double b) {
  constexpr double kTolerance = 1e-6;
  if (IsStale(a) || IsStale(b)) return IsStale(a) && IsStale(b);
  return pitwall::AlmostEqual(a, b, kTolerance);
}

std::string CompareInstant(const EvalCommand& eval, QueryType type,
                           const std::vector<QueryElement>& elements, bool ordered) {
  if (type == QueryType::kScalar) {
    if (!eval.scalar.has_value()) return "the result is a scalar";
    if (elements.size() != 1) return "the scalar has no value";
    return AlmostEqual(*eval.scalar, elements[0].value) ? "" : "the scalar differs";
  }
  if (eval.scalar.has_value()) return "the result is not a scalar";
  std::set<Labels> seen;
  for (size_t at = 0; at < elements.size(); ++at) {
    const Labels& labels = elements[at].labels;
    if (!seen.insert(labels).second) return Cat(labels.ToString(), " is in the result twice");
    const GoldenSeries* expected = Find(eval, labels);
    if (expected == nullptr) return Cat(labels.ToString(), " is not expected");
    const double value = expected->points.empty() ? 0 : expected->points[0].value;
    if (!AlmostEqual(value, elements[at].value)) {
      return Cat(labels.ToString(), " is ", FormatDouble(elements[at].value), ", not ",
                 FormatDouble(value));
    }
    if (ordered && expected != &eval.series[at])
      return Cat(labels.ToString(), " is at position ", at + 1);
  }
  for (const GoldenSeries& expected : eval.series) {
    if (!seen.contains(expected.labels)) return Cat(expected.labels.ToString(), " is missing");
  }
  return {};
}

std::string CompareRange(const EvalCommand& eval, const QueryAnswer& answer) {
  if (eval.scalar.has_value())
    return "a range query does not return a scalar; expect the series {}";
  Series got;
  if (!ToSeries(answer, &got)) return "two series have equal labels";
  for (const auto& [labels, points] : got) {
    const GoldenSeries* expected = Find(eval, labels);
    if (expected == nullptr) return Cat(labels.ToString(), " is not expected");
    if (std::string wrong = ComparePoints(*expected, points, answer); !wrong.empty()) return wrong;
  }
  for (const GoldenSeries& expected : eval.series) {
    if (!got.contains(expected.labels)) return Cat(expected.labels.ToString(), " is missing");
  }
  return {};
}

std::string CompareFailure(const EvalCommand& eval, std::string_view words) {
  if (eval.message.has_value() && words.find(*eval.message) == std::string_view::npos)
    return "the error message differs";
  if (eval.pattern.has_value()) {
    const auto matcher =
        Matcher::Make("", MatchOp::kRegex, Cat("(?s:.*)(?:", *eval.pattern, ")(?s:.*)"));
    if (!matcher.ok() || !matcher->Matches(words)) return "the error message differs";
  }
  return {};
}

std::vector<std::string> ExpectedLines(const EvalCommand& eval) {
  std::vector<std::string> lines;
  if (eval.fail) {
    if (eval.message.has_value()) return {Cat("an error: ", *eval.message)};
    if (eval.pattern.has_value()) return {Cat("an error that matches: ", *eval.pattern)};
    return {"an error"};
  }
  if (eval.text.has_value()) return {Quote(*eval.text)};
  if (eval.scalar.has_value()) return {FormatDouble(*eval.scalar)};
  for (const GoldenSeries& series : eval.series)
    lines.push_back(Line(series.labels, series.points));
  return lines;
}

std::vector<std::string> InstantLines(QueryType type, const std::vector<QueryElement>& elements) {
  std::vector<std::string> lines;
  for (const QueryElement& element : elements) {
    lines.push_back(type == QueryType::kScalar
                        ? FormatDouble(element.value)
                        : Line(element.labels, {{Kind::kValue, element.value}}));
  }
  return lines;
}

std::vector<std::string> RangeLines(const QueryAnswer& answer) {
  Series series;
  ToSeries(answer, &series);
  std::vector<std::string> lines;
  for (const auto& [labels, points] : series) lines.push_back(Line(labels, points));
  return lines;
}

}  // namespace pitwall::offline
