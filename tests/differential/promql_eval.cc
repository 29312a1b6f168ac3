// Pitwall's side of the differential test: evaluates PromQL expressions over given samples with the
// streaming engine, or with the evaluator for stored samples (--stored). Reads requests from
// standard input, and writes responses to standard output. Fields are separated by tabs; inside a
// field, \t, \n, and \\ are escaped. Requests:
//
//   series<TAB>N                  the samples of the following queries; then N lines
//     name=value… <TAB>|<TAB> t_ms:value…
//   query<TAB>ID<TAB>start<TAB>end<TAB>step<TAB>lookback<TAB>subquery interval<TAB>expression
//                                 (times in ms)
//
// A value is in strtod's format, or stale. The response to each query is
//
//   error<TAB>ID<TAB>KIND<TAB>message       KIND: error, unsupported, limit, internal
//   answer<TAB>ID<TAB>TYPE<TAB>N[<TAB>text] and then N ticks: "tick<TAB>t_ms<TAB>M" and M lines
//     value<TAB>name=value…                 (value in hexadecimal)
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/offline/query.h"
#include "services/offline/query_order.h"
#include "services/query/stored_query.h"
#include "tests/differential/line_protocol.h"

namespace pitwall {
namespace {

using differential::kMillisecond;
using differential::Number;

std::string Field(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\t') {
      out += "\\t";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view KindOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "error";
    case absl::StatusCode::kUnimplemented:
      return "unsupported";
    case absl::StatusCode::kResourceExhausted:
      return "limit";
    default:
      return "internal";
  }
}

std::string_view TypeName(offline::QueryType type) {
  switch (type) {
    case offline::QueryType::kScalar:
      return "scalar";
    case offline::QueryType::kVector:
      return "vector";
    case offline::QueryType::kString:
      return "string";
  }
  return "";
}

std::string Answer(const std::string& id, const StatusOr<offline::QueryAnswer>& answer) {
  if (!answer.ok()) {
    return Cat("error\t", id, "\t", KindOf(answer.status()), "\t",
               Field(ToStd(answer.status().message())), "\n");
  }
  std::string out = Cat("answer\t", id, "\t", TypeName(answer->type), "\t", answer->ticks.size(),
                        "\t", Field(answer->text), "\n");
  for (const offline::QueryAnswer::Tick& tick : answer->ticks) {
    CatTo(out, "tick\t", tick.position / kMillisecond, "\t", tick.elements.size(), "\n");
    for (const offline::QueryElement& element : tick.elements) {
      char number[64];
      std::snprintf(number, sizeof number, "%a", element.value);
      out += number;
      for (const Label& label : element.labels)
        CatTo(out, "\t", Field(label.name), "=", Field(label.value));
      out += '\n';
    }
  }
  return out;
}

// Runs the same query with the other evaluator.
StatusOr<offline::QueryAnswer> RunStored(const std::vector<offline::QuerySeries>& series,
                                         const offline::Query& asked) {
  ASSIGN_OR_RETURN(const query::StoredQuery made,
                   query::StoredQuery::Make(asked.expr, {asked.start, asked.end, asked.step,
                                                         asked.lookback, asked.subquery_interval}));
  offline::QueryAnswer out;
  if (made.type() == query::AnswerType::kString) {
    out.type = offline::QueryType::kString;
    out.text = made.text();
    return out;
  }
  if (made.type() == query::AnswerType::kMatrix)
    return Unimplemented("the result is a range vector");
  if (made.type() == query::AnswerType::kScalar) out.type = offline::QueryType::kScalar;
  std::vector<std::vector<int64_t>> times;
  std::vector<std::vector<double>> values;
  for (const offline::QuerySeries& one : series) {
    times.emplace_back();
    values.emplace_back();
    for (const auto& [position, value] : one.samples) {
      times.back().push_back(position);
      values.back().push_back(value);
    }
  }
  std::vector<std::vector<query::StoredSeries>> feeds;
  for (const query::StoredQuery::Need& need : made.needs()) {
    feeds.emplace_back();
    for (size_t i = 0; i < series.size(); ++i) {
      if (need.selector.Matches(series[i].labels))
        feeds.back().push_back({series[i].labels, times[i], values[i]});
    }
  }
  ASSIGN_OR_RETURN(const std::vector<query::AnswerSeries> answer, made.Run(feeds, {}));
  for (int64_t tick = asked.start; tick <= asked.end; tick += asked.step) {
    out.ticks.push_back({tick, {}});
    for (const query::AnswerSeries& one : answer) {
      const auto at = std::lower_bound(one.points.begin(), one.points.end(), tick,
                                       [](const auto& p, int64_t t) { return p.first < t; });
      if (at != one.points.end() && at->first == tick)
        out.ticks.back().elements.push_back({one.labels, at->second});
    }
    offline::OrderForDisplay(made.expr(), &out.ticks.back().elements);
  }
  return out;
}

int Main(bool stored) {
  std::ios::sync_with_stdio(false);
  std::vector<offline::QuerySeries> series;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> fields = differential::Fields(line);
    if (differential::ReadSeries(fields, "promql_eval", &series)) continue;
    if (fields[0] == "query" && fields.size() == 8) {
      offline::Query asked;
      asked.start = Number(fields[2]) * kMillisecond;
      asked.end = Number(fields[3]) * kMillisecond;
      asked.step = Number(fields[4]) * kMillisecond;
      asked.lookback = Number(fields[5]) * kMillisecond;
      asked.subquery_interval = Number(fields[6]) * kMillisecond;
      asked.expr = fields[7];
      std::cout << Answer(fields[1],
                          stored ? RunStored(series, asked) : offline::RunQuery(series, asked))
                << std::flush;
    } else {
      std::cerr << "promql_eval: unknown request: " << line << "\n";
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  return pitwall::Main(argc > 1 && std::string_view(argv[1]) == "--stored");
}
