#include "services/history/promapi/query_answers.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "services/base/cancellation.h"
#include "services/base/text/strings.h"
#include "services/history/promapi/annotations.h"
#include "services/history/promapi/response.h"
#include "services/history/promapi/series_reader.h"
#include "services/model/position.h"
#include "services/offline/query.h"
#include "services/offline/query_order.h"
#include "services/query/stored_query.h"

namespace pitwall::promapi {
namespace {

using query::AnswerSeries;
using query::AnswerType;
using query::StoredQuery;
using query::StoredSeries;

constexpr int64_t kMaxPointsPerSeries = 11'000;
constexpr std::string_view kTimedOut = "query timed out in expression evaluation";
// Limits for queries that use the streaming engine's windows.
constexpr size_t kMaxStreamedSamples = 5'000'000;
constexpr int64_t kMaxStreamedTicks = 2'000;

std::string_view TypeText(AnswerType type) {
  return type == AnswerType::kString ? "string" : "range vector";
}

// Sorts an instant vector (one point per series) into display order.
std::vector<AnswerSeries> Displayed(const lang::Expr& expr, std::vector<AnswerSeries> series) {
  std::vector<offline::QueryElement> elements;
  for (const AnswerSeries& one : series)
    elements.push_back({one.labels, one.points.front().second});
  offline::OrderForDisplay(expr, &elements);
  const int64_t time = series.empty() ? 0 : series.front().points.front().first;
  series.clear();
  for (offline::QueryElement& element : elements)
    series.push_back({std::move(element.labels), {{time, element.value}}});
  return series;
}

StatusOr<std::vector<AnswerSeries>> Streamed(std::string_view text, const StoredQuery& asked,
                                             std::span<const std::vector<StoredSeries>> series,
                                             const query::RunLimits& limits) {
  const query::QuerySpan& span = asked.span();
  if ((span.end - span.start) / span.step >= kMaxStreamedTicks) {
    return ResourceExhausted(
        Cat("a query with Pitwall's own functions or windows must have at most ", kMaxStreamedTicks,
            " steps; use a longer step"));
  }
  std::vector<offline::QuerySeries> given;
  absl::flat_hash_set<Labels> known;
  size_t samples = 0;
  for (const std::vector<StoredSeries>& need : series) {
    for (const StoredSeries& one : need) {
      if (!known.insert(one.labels).second) continue;  // several selectors may match this series
      RETURN_IF_ERROR(limits.check());
      samples += one.times.size();
      if (samples > kMaxStreamedSamples) {
        return ResourceExhausted(
            Cat("a query with Pitwall's own functions or windows must read at most ",
                kMaxStreamedSamples, " samples; use a shorter range or a narrower selector"));
      }
      given.push_back({one.labels, {}});
      for (size_t i = 0; i < one.times.size(); ++i)
        given.back().samples.emplace_back(one.times[i], one.values[i]);
    }
  }
  offline::Query query;
  query.expr = text;
  query.start = span.start;
  query.end = span.end;
  query.step = span.step;
  query.lookback = span.lookback;
  query.subquery_interval = span.subquery_interval;
  query.check = limits.check;
  query.max_elements = limits.points;
  ASSIGN_OR_RETURN(const offline::QueryAnswer answer, offline::RunQuery(given, query));
  std::vector<std::pair<Labels, std::pair<int64_t, double>>> points;
  for (const offline::QueryAnswer::Tick& tick : answer.ticks) {
    for (const offline::QueryElement& element : tick.elements)
      points.push_back({element.labels, {tick.position, element.value}});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<AnswerSeries> out;
  for (auto& [labels, point] : points) {
    if (out.empty() || out.back().labels != labels) out.push_back({labels, {}});
    out.back().points.push_back(point);
  }
  return out;
}

void AppendMatrix(const std::vector<AnswerSeries>& series, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < series.size(); ++i) {
    *out += i == 0 ? "{\"metric\":" : ",{\"metric\":";
    AppendLabels(series[i].labels, out);
    *out += ",\"values\":[";
    for (size_t k = 0; k < series[i].points.size(); ++k) {
      if (k > 0) *out += ',';
      AppendPoint(series[i].points[k].first, series[i].points[k].second, out);
    }
    *out += "]}";
  }
  *out += ']';
}

void AppendVector(const std::vector<AnswerSeries>& series, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < series.size(); ++i) {
    *out += i == 0 ? "{\"metric\":" : ",{\"metric\":";
    AppendLabels(series[i].labels, out);
    *out += ",\"value\":";
    AppendPoint(series[i].points.front().first, series[i].points.front().second, out);
    *out += '}';
  }
  *out += ']';
}

}  // namespace

struct QueryAnswers::Asked {
  std::string text;
  query::QuerySpan span;
  bool range = false;
  int64_t began_ns = 0;  // monotonic start time of the query
  int64_t deadline_ns = 0;
  size_t limit = 0;  // maximum number of series; 0 means unlimited
};

std::string ParseErrorText(std::string_view message) {
  std::string out(message);
  if (StartsWith(out, "query:")) out.erase(0, 6);
  const size_t at = out.find(" error: ");
  if (at != std::string::npos) out.replace(at, 8, " parse error: ");
  return out;
}

StatusOr<int64_t> QueryAnswers::Deadline(const Form& form) const {
  int64_t length = options_->timeout_ns;
  if (const std::string_view text = form.Get("timeout"); !text.empty()) {
    ASSIGN_OR_RETURN(const int64_t asked, ParseLength(text));
    length = std::min(length, asked);
  }
  return clock_->MonotonicNs() + length;
}

http::HttpResponse QueryAnswers::Instant(const Form& form) const {
  Asked asked;
  asked.began_ns = clock_->MonotonicNs();
  const StatusOr<size_t> limit = ParseLimit(form.Get("limit"));
  if (!limit.ok()) return InvalidParameter("limit", ToStd(limit.status().message()));
  asked.limit = *limit;
  asked.span.start = FloorTo(clock_->WallNs(), kNanosPerMilli);
  if (const std::string_view text = form.Get("time"); !text.empty()) {
    const StatusOr<int64_t> time = ParseInstant(text);
    if (!time.ok()) {
      return InvalidParameter(
          "time", Cat("invalid time value for 'time': ", ToStd(time.status().message())));
    }
    asked.span.start = *time;
  }
  asked.span.end = asked.span.start;
  return Run(form, asked);
}

http::HttpResponse QueryAnswers::Range(const Form& form) const {
  Asked asked;
  asked.range = true;
  asked.began_ns = clock_->MonotonicNs();
  const StatusOr<size_t> limit = ParseLimit(form.Get("limit"));
  if (!limit.ok()) return InvalidParameter("limit", ToStd(limit.status().message()));
  asked.limit = *limit;
  for (const auto& [name, target] :
       {std::pair<std::string_view, int64_t*>("start", &asked.span.start),
        {"end", &asked.span.end}}) {
    const StatusOr<int64_t> time = ParseInstant(form.Get(name));
    if (!time.ok()) return InvalidParameter(name, ToStd(time.status().message()));
    *target = *time;
  }
  if (asked.span.end < asked.span.start)
    return InvalidParameter("end", "end timestamp must not be before start time");
  const StatusOr<int64_t> step = ParseLength(form.Get("step"));
  if (!step.ok()) return InvalidParameter("step", ToStd(step.status().message()));
  if (*step <= 0) {
    return InvalidParameter("step",
                            "zero or negative query resolution step widths are not accepted. Try a "
                            "positive integer");
  }
  if ((asked.span.end - asked.span.start) / *step > kMaxPointsPerSeries) {
    return ErrorAnswer(ErrorType::kBadData,
                       "exceeded maximum resolution of 11,000 points per timeseries. Try "
                       "decreasing the query resolution (?step=XX)");
  }
  // Prometheus evaluates at times in whole milliseconds.
  asked.span.step = std::max(FloorTo(*step, kNanosPerMilli), kNanosPerMilli);
  return Run(form, asked);
}

http::HttpResponse QueryAnswers::Run(const Form& form, const Asked& request) const {
  Asked asked = request;
  asked.text = form.Get("query");
  const StatusOr<int64_t> deadline = Deadline(form);
  if (!deadline.ok()) return InvalidParameter("timeout", ToStd(deadline.status().message()));
  asked.deadline_ns = *deadline;
  asked.span.lookback = options_->lookback_ns;
  asked.span.subquery_interval = options_->subquery_interval_ns;
  if (const std::string_view text = form.Get("lookback_delta"); !text.empty()) {
    const StatusOr<int64_t> lookback = ParseLength(text);
    if (!lookback.ok()) {
      return ErrorAnswer(ErrorType::kBadData, Cat("error parsing lookback delta duration: ",
                                                  ToStd(lookback.status().message())));
    }
    if (*lookback > 0) asked.span.lookback = *lookback;
  }
  const StatusOr<StoredQuery> made = StoredQuery::Make(asked.text, asked.span);
  if (!made.ok()) return InvalidParameter("query", ParseErrorText(ToStd(made.status().message())));
  if (asked.range && (made->type() == AnswerType::kString || made->type() == AnswerType::kMatrix)) {
    return InvalidParameter("query", Cat("invalid expression type \"", TypeText(made->type()),
                                         "\" for range query, must be Scalar or instant Vector"));
  }
  const auto check = [&]() -> Status {
    RETURN_IF_ERROR(CheckCanceled());
    if (clock_->MonotonicNs() < asked.deadline_ns) return OkStatus();
    return DeadlineExceeded(kTimedOut);
  };
  SeriesReader reader(history_, *options_, check);
  std::vector<ReadSamples> read;
  std::vector<std::vector<StoredSeries>> series;
  std::vector<AnswerSeries> answer;
  Annotations annotations;
  if (made->type() != AnswerType::kString) {
    for (const StoredQuery::Need& need : made->needs()) {
      StatusOr<ReadSamples> samples =
          reader.Samples(need.selector, std::max(need.from, kMinPosition), need.to);
      if (!samples.ok()) return FailedRun(samples.status());
      read.push_back(*std::move(samples));
      series.push_back(std::move(read.back().series));
    }
    query::RunLimits limits;
    limits.points = options_->max_points;
    limits.check = check;
    StatusOr<std::vector<AnswerSeries>> result = made->needs_streaming()
                                                     ? Streamed(asked.text, *made, series, limits)
                                                     : made->Run(series, limits);
    if (!result.ok()) return FailedRun(result.status());
    answer = *std::move(result);
    annotations = AnnotationsOf(asked.text, *made, series);
  }
  const bool scalar = made->type() == AnswerType::kScalar && !asked.range;
  const bool matrix = asked.range || made->type() == AnswerType::kMatrix;
  if (!scalar && !matrix) answer = Displayed(made->expr(), std::move(answer));
  if (asked.limit > 0 && answer.size() > asked.limit) {
    answer.resize(asked.limit);
    annotations.warnings.emplace_back("results truncated due to limit");
  }
  std::string data = "{\"resultType\":";
  if (made->type() == AnswerType::kString) {
    CatTo(data, "\"string\",\"result\":[");
    std::string point;
    AppendPoint(asked.span.start, 0, &point);
    data += point.substr(1, point.find(','));
    AppendText(made->text(), &data);
    data += ']';
  } else if (scalar) {
    data += "\"scalar\",\"result\":";
    AppendPoint(asked.span.start, answer[0].points[0].second, &data);
  } else if (matrix) {
    data += "\"matrix\",\"result\":";
    AppendMatrix(answer, &data);
  } else {
    data += "\"vector\",\"result\":";
    AppendVector(answer, &data);
  }
  if (const std::string_view stats = form.Get("stats"); !stats.empty()) {
    const double seconds = static_cast<double>(clock_->MonotonicNs() - asked.began_ns) / 1e9;
    CatTo(data, ",\"stats\":{\"timings\":{\"evalTotalTime\":", FormatDouble(seconds),
          ",\"resultSortTime\":0,\"queryPreparationTime\":0,\"innerEvalTime\":",
          FormatDouble(seconds), ",\"execQueueTime\":0,\"execTotalTime\":", FormatDouble(seconds),
          "},\"samples\":{\"totalQueryableSamples\":", reader.samples_read(),
          ",\"samplesRead\":", reader.samples_read(), ",\"peakSamples\":", reader.samples_read(),
          "}}");
    if (stats != "true" && stats != "all") {
      annotations.warnings.push_back(
          Cat("value ", Quote(stats),
              " for parameter \"stats\" is deprecated and will be rejected in the next major "
              "release, use \"true\" or \"all\""));
    }
  }
  data += '}';
  annotations.missing = reader.missing().Texts();
  return DataAnswer(data, annotations);
}

}  // namespace pitwall::promapi
