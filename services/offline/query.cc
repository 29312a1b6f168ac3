#include "services/offline/query.h"

#include <algorithm>
#include <memory>

#include "rules/check/types.h"
#include "rules/eval/evaluator.h"
#include "rules/lang/parser.h"
#include "rules/lang/printer.h"
#include "rules/plan/query.h"
#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"
#include "services/engine/ticks/subqueries.h"
#include "services/offline/at_offset_folding.h"
#include "services/offline/query_order.h"
#include "services/window/store/series_store.h"

namespace pitwall::offline {
namespace {

constexpr int64_t kMaxTicks = 1'000'000;
// Interval of a query with a single tick. Any interval gives the correct result. A long interval
// needs only a few panes.
constexpr int64_t kFoldedStep = 24 * 60 * plan::kDefaultInterval;

// Sample of a series at a position. Points are sorted by position.
struct Point {
  int64_t position;
  window::SeriesId id;
  double value;
};

StatusOr<std::vector<Point>> Points(const std::vector<QuerySeries>& series,
                                    window::SeriesStore* store) {
  std::vector<Point> points;
  for (const QuerySeries& one : series) {
    ASSIGN_OR_RETURN(const window::SeriesId id, store->Intern(one.labels));
    if (id == window::SeriesStore::kUnwanted) continue;
    for (const auto& [position, value] : one.samples) points.push_back({position, id, value});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.position < b.position; });
  return points;
}

// Appends the points with positions up to `upto` to the store, starting at index `next`.
Status Feed(const std::vector<Point>& points, int64_t upto, size_t* next,
            window::SeriesStore* store) {
  std::vector<window::SeriesId> ids;
  std::vector<double> values;
  while (*next < points.size() && points[*next].position <= upto) {
    const int64_t position = points[*next].position;
    const size_t first = *next;
    ids.clear();
    values.clear();
    for (; *next < points.size() && points[*next].position == position; ++*next) {
      ids.push_back(points[*next].id);
      values.push_back(points[*next].value);
    }
    RETURN_IF_ERROR(
        store->Append({Position::FromNs(position), "query", "", first, 0}, ids, values));
  }
  return OkStatus();
}

// Appends a tick to the answer. Returns ResourceExhausted if the answer would exceed the element
// limit.
Status AddTick(const Query& query, QueryAnswer::Tick tick, QueryAnswer* answer, size_t* elements) {
  *elements += tick.elements.size();
  if (*elements > query.max_elements) {
    return ResourceExhausted(Cat("the result has more than ", query.max_elements,
                                 " points; select fewer series or use a longer step"));
  }
  answer->ticks.push_back(std::move(tick));
  return OkStatus();
}

// Evaluates the query like a rule, which reads samples at other times only through windows.
StatusOr<QueryAnswer> RunLive(const std::vector<QuerySeries>& series, const Query& query,
                              const lang::Expr& shown) {
  QueryAnswer answer;
  ASSIGN_OR_RETURN(
      const plan::QueryProgram compiled,
      plan::CompileQuery(query.expr, {Duration::Nanos(query.step), Duration::Nanos(query.lookback),
                                      Duration::Nanos(query.subquery_interval)}));
  if (compiled.scalar) answer.type = QueryType::kScalar;
  const plan::DomainPlan& domain = compiled.program->domains[0];
  const plan::NodeId root = domain.groups[0].rules[0].expr;
  window::SeriesStore store(std::shared_ptr<const DemandSet>(compiled.program, &domain.demands),
                            window::Limits{});
  engine::Subqueries subqueries(compiled.program, 0, window::Limits{});
  eval::WorkMeter meter(query.check);
  eval::Evaluator evaluator(compiled.program, 0, {.meter = &meter});
  ASSIGN_OR_RETURN(const std::vector<Point> points, Points(series, &store));
  // Subqueries look back beyond the first tick, so their steps start at the first sample.
  int64_t from = query.start - 1;
  for (const plan::Subquery& subquery : domain.subqueries) from -= subquery.reach.ns();
  if (!points.empty()) from = std::min(from, points.front().position - 1);
  store.SetOrigin(Position::FromNs(query.start));
  subqueries.SetOrigin(Position::FromNs(query.start));
  if (!domain.subqueries.empty())
    subqueries.schedule().Start(Position::FromNs(from), Position::Earliest());
  size_t next = 0, elements = 0;
  for (int64_t tick = query.start; tick <= query.end;) {
    RETURN_IF_ERROR(meter.Check());
    const int64_t at = std::min(tick, subqueries.schedule().NextTick().ns());
    RETURN_IF_ERROR(Feed(points, at, &next, &store));
    store.SealTo(Position::FromNs(at));
    store.BeginTick(Position::FromNs(at));
    evaluator.Begin(at, &store.results(), subqueries.views());
    subqueries.Begin(Position::FromNs(at));
    subqueries.Finish(&evaluator);
    if (at < tick) continue;
    ASSIGN_OR_RETURN(const eval::Vector* result, evaluator.Evaluate(root));
    for (const plan::DemandRef& ref : engine::DemandsBelow(domain, root)) {
      RETURN_IF_ERROR(ref.source == 0 ? store.results().StatusOf(ref.demand)
                                      : subqueries.Check(ref, Position::FromNs(tick)));
    }
    QueryAnswer::Tick out{tick, {}};
    for (size_t i = 0; i < result->size(); ++i) {
      if (result->present[i]) out.elements.push_back({result->labels(i), result->values[i]});
    }
    OrderForDisplay(shown, &out.elements);
    RETURN_IF_ERROR(AddTick(query, std::move(out), &answer, &elements));
    tick += query.step;
  }
  return answer;
}

// Evaluates each tick separately, with an expression folded for that tick.
StatusOr<QueryAnswer> RunFolded(const std::vector<QuerySeries>& series, const Query& query,
                                const lang::Source& source, const lang::Expr& shown) {
  QueryAnswer answer;
  size_t elements = 0;
  for (int64_t tick = query.start; tick <= query.end; tick += query.step) {
    lang::Diagnostics ignored;
    const lang::ExprPtr expr = lang::ParseExpr(source, &ignored);
    ASSIGN_OR_RETURN(const int64_t lead, FoldTimes(tick, query.start, query.end, expr.get()));
    Query folded = query;
    folded.expr = lang::Print(*expr);
    folded.start = folded.end = tick + lead;
    folded.step = kFoldedStep;
    ASSIGN_OR_RETURN(QueryAnswer one, RunLive(series, folded, shown));
    one.ticks[0].position = tick;
    answer.type = one.type;
    RETURN_IF_ERROR(AddTick(query, std::move(one.ticks[0]), &answer, &elements));
  }
  return answer;
}

}  // namespace

StatusOr<QueryAnswer> RunQuery(const std::vector<QuerySeries>& series, const Query& query) {
  if (query.step <= 0) return InvalidArgument("query step must be greater than 0");
  if ((query.end - query.start) / query.step >= kMaxTicks) {
    return InvalidArgument(Cat("a query must have at most ", kMaxTicks, " ticks"));
  }
  const lang::Source source("query", query.expr);
  lang::Diagnostics diagnostics;
  const lang::ExprPtr expr = lang::ParseExpr(source, &diagnostics);
  if (expr == nullptr) {
    const Status status = diagnostics.ToStatus();
    return diagnostics.OnlyUnsupported() ? Unimplemented(ToStd(status.message())) : status;
  }
  if (const auto* text = lang::Unwrap(*expr).As<lang::StringExpr>()) {
    QueryAnswer answer;
    answer.type = QueryType::kString;
    answer.text = text->value;
    return answer;
  }
  if (check::TypeOf(*expr) == check::Type::kMatrix)
    return Unimplemented("the result is a range vector, which no rule can return");
  return LooksElsewhere(*expr) ? RunFolded(series, query, source, *expr)
                               : RunLive(series, query, *expr);
}

}  // namespace pitwall::offline
