#include "services/query/stored_query.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "rules/check/types.h"
#include "rules/eval/evaluator.h"
#include "rules/lang/parser.h"
#include "rules/plan/query.h"
#include "services/base/text/strings.h"
#include "services/model/label_bytes.h"
#include "services/model/position.h"
#include "services/query/query_times.h"
#include "services/query/scan_view.h"
#include "services/query/window_scan.h"

namespace pitwall::query {
namespace {

constexpr size_t kNoFeed = SIZE_MAX;

struct Interval {
  int64_t from;  // exclusive
  int64_t to;
};

// Clamps a position to a range that contains all samples. Nested offsets can exceed this range.
int64_t Within(int64_t position) { return std::clamp(position, 2 * kMinPosition, kMaxPosition); }

void AddInterval(Interval added, std::vector<Interval>* list) {
  list->push_back({Within(added.from), Within(added.to)});
  std::sort(list->begin(), list->end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  std::vector<Interval> merged;
  for (const Interval& one : *list) {
    if (!merged.empty() && one.from <= merged.back().to) {
      merged.back().to = std::max(merged.back().to, one.to);
    } else {
      merged.push_back(one);
    }
  }
  *list = std::move(merged);
}

Status TooManySamples() {
  return ResourceExhausted(
      "query processing would load too many samples into memory in query execution");
}

// Remaining limits for the query result and the subquery results.
struct Remaining {
  size_t points;
  size_t label_bytes;
};

// Collects each series' points. A series is identified by its labels. If the label sets are the
// same as at the previous tick, no lookup is needed.
class Collector {
 public:
  Collector(const RunLimits* limits, Remaining* left) : limits_(limits), left_(left) {}

  Status Add(int64_t tick, const eval::Vector& result) {
    if (result.binding != binding_ || result.size() != at_.size()) Bind(result);
    size_t count = 0;
    for (size_t i = 0; i < result.size(); ++i) {
      if (!result.present[i]) continue;
      if (at_[i] == kUnknown) {
        ASSIGN_OR_RETURN(at_[i], IndexOf(result, i));
      }
      series_[at_[i]].points.emplace_back(tick, result.values[i]);
      ++count;
    }
    if (count > left_->points) return TooManySamples();
    left_->points -= count;
    return OkStatus();
  }
  std::vector<AnswerSeries> Take() { return std::move(series_); }

 private:
  static constexpr size_t kUnknown = SIZE_MAX;

  void Bind(const eval::Vector& result) {
    binding_ = result.binding;
    at_.assign(result.size(), kUnknown);
  }
  StatusOr<size_t> IndexOf(const eval::Vector& result, size_t i) {
    const Labels labels = result.type == plan::ValueType::kScalar ? Labels() : result.labels(i);
    const auto [known, is_new] = known_.try_emplace(labels, series_.size());
    if (!is_new) return known->second;
    const size_t bytes = LabelBytes(labels);
    if (bytes > left_->label_bytes) {
      return ResourceExhausted(Cat("the query's series have more than ", limits_->label_bytes,
                                   " bytes of labels; select fewer series or a shorter range"));
    }
    left_->label_bytes -= bytes;
    series_.push_back({labels, {}});
    return known->second;
  }

  const RunLimits* const limits_;
  Remaining* const left_;
  uint64_t binding_ = 0;
  std::vector<size_t> at_;  // index into series_ for each element
  absl::flat_hash_map<Labels, size_t> known_;
  std::vector<AnswerSeries> series_;
};

}  // namespace

struct StoredQuery::Plan {
  QuerySpan span;
  AnswerType type = AnswerType::kVector;
  std::string text;
  lang::ExprPtr expr;
  plan::ProgramPtr program;  // null for a string literal
  QueryTimes times{0, 0};
  bool needs_streaming = false;
  std::vector<Need> needs;
  std::vector<size_t> need_of;  // for each demand of the store, an index into `needs`, or kNoFeed
  std::vector<std::vector<Interval>> subquery_spans;  // evaluation intervals of each subquery

  const plan::DomainPlan& domain() const { return program->domains[0]; }
  plan::NodeId root() const { return domain().groups[0].rules[0].expr; }
  Status FindNeeds();
};

StoredQuery::StoredQuery(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
StoredQuery::~StoredQuery() = default;
StoredQuery::StoredQuery(StoredQuery&&) noexcept = default;
StoredQuery& StoredQuery::operator=(StoredQuery&&) noexcept = default;
AnswerType StoredQuery::type() const { return plan_->type; }
const std::string& StoredQuery::text() const { return plan_->text; }
const lang::Expr& StoredQuery::expr() const { return *plan_->expr; }
const QuerySpan& StoredQuery::span() const { return plan_->span; }
bool StoredQuery::needs_streaming() const { return plan_->needs_streaming; }
const std::vector<StoredQuery::Need>& StoredQuery::needs() const { return plan_->needs; }

StatusOr<StoredQuery> StoredQuery::Make(std::string_view text, const QuerySpan& span) {
  if (span.step <= 0) return InvalidArgument("query step must be greater than 0");
  if (span.end < span.start) return InvalidArgument("a query must not end before it starts");
  auto plan = std::make_unique<Plan>();
  plan->span = span;
  plan->times = QueryTimes(span.start, span.end);
  const lang::Source source("query", std::string(text));
  lang::Diagnostics diagnostics;
  plan->expr = lang::ParseExpr(source, &diagnostics);
  if (plan->expr == nullptr) {
    const Status status = diagnostics.ToStatus();
    return diagnostics.OnlyUnsupported() ? Unimplemented(ToStd(status.message())) : status;
  }
  if (const auto* literal = lang::Unwrap(*plan->expr).As<lang::StringExpr>()) {
    plan->type = AnswerType::kString;
    plan->text = literal->value;
    return StoredQuery(std::move(plan));
  }
  lang::Diagnostics ignored;
  lang::ExprPtr planned = lang::ParseExpr(source, &ignored);
  RETURN_IF_ERROR(plan->times.Encode(planned.get()));
  const bool matrix = check::TypeOf(*planned) == check::Type::kMatrix;
  if (matrix) {
    // Range vectors are evaluated with last_over_time, because it keeps metric names. The result
    // then consists of the samples in the windows.
    lang::CallExpr call;
    call.function = "last_over_time";
    const lang::Span whole = planned->span;
    const int depth = planned->depth + 1;
    call.arguments.push_back(std::move(planned));
    planned = std::make_unique<lang::Expr>();
    planned->span = whole;
    planned->depth = depth;
    planned->node = std::move(call);
  }
  ASSIGN_OR_RETURN(
      const plan::QueryProgram compiled,
      plan::CompileStoredQuery(source, std::move(planned),
                               {Duration::Nanos(span.step), Duration::Nanos(span.lookback),
                                Duration::Nanos(span.subquery_interval)}));
  plan->program = compiled.program;
  plan->type = matrix            ? AnswerType::kMatrix
               : compiled.scalar ? AnswerType::kScalar
                                 : AnswerType::kVector;
  RETURN_IF_ERROR(plan->FindNeeds());
  return StoredQuery(std::move(plan));
}

// Traverses the plan from the root to find the times at which each node is evaluated. A node is
// evaluated at the same times as its parents. A subquery is evaluated within the windows of the
// functions that read it.
Status StoredQuery::Plan::FindNeeds() {
  const plan::DomainPlan& all = domain();
  const size_t subqueries = all.subqueries.size();
  subquery_spans.assign(subqueries, {});
  std::vector<std::vector<Interval>> reads(all.demands.demands.size());
  // Records the time ranges that `from` and its inputs read when they are evaluated over [first,
  // last].
  const auto mark = [&](plan::NodeId from, int64_t first, int64_t last) {
    std::vector<uint8_t> seen(all.nodes.size(), 0);
    std::vector<plan::NodeId> open = {from};
    while (!open.empty()) {
      const plan::NodeId id = open.back();
      open.pop_back();
      if (seen[id.index()]++ != 0) continue;
      const plan::Node& node = all.nodes[id.index()];
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      const auto* column = node.As<plan::DemandColumn>();
      if (column == nullptr) continue;
      const plan::DemandRef ref = column->ref;
      const Demand& demand = plan::DemandAt(all, ref);
      if (demand.kind != WindowKind::kInstant && demand.kind != WindowKind::kTime)
        needs_streaming = true;
      if (!CanScan(demand.function)) needs_streaming = true;
      const int64_t reach =
          demand.kind == WindowKind::kInstant ? demand.lookback
          : demand.kind == WindowKind::kTime
              ? demand.range + (demand.function == WindowFunction::kShare ? demand.lookback : 0)
              : kMaxPosition / 4;  // reads from the start of the job
      const Interval read = {times.EndAt(demand.offset, first) - reach,
                             times.EndAt(demand.offset, last)};
      AddInterval(read, ref.source == 0 ? &reads[ref.demand] : &subquery_spans[ref.source - 1]);
    }
  };
  mark(root(), span.start, span.end);
  for (size_t k = subqueries; k-- > 0;) {
    const std::vector<Interval> spans = subquery_spans[k];
    for (const Interval& one : spans) {
      const int64_t first = NextAfter(one.from, all.subqueries[k].step.ns());
      const int64_t last = FloorTo(one.to, all.subqueries[k].step.ns());
      if (first <= last) mark(all.subqueries[k].expr, first, last);
    }
  }
  // Each selector gets one Need per time interval.
  need_of.assign(reads.size(), kNoFeed);
  for (size_t selector = 0; selector < all.demands.selectors.size(); ++selector) {
    std::vector<Interval> stretches;
    for (size_t d = 0; d < reads.size(); ++d) {
      if (all.demands.demands[d].selector != selector || reads[d].empty()) continue;
      reads[d] = {{reads[d].front().from, reads[d].back().to}};
      AddInterval(reads[d][0], &stretches);
    }
    const size_t first = needs.size();
    for (const Interval& stretch : stretches)
      needs.push_back({all.demands.selectors[selector], stretch.from, stretch.to});
    for (size_t d = 0; d < reads.size(); ++d) {
      if (all.demands.demands[d].selector != selector || reads[d].empty()) continue;
      for (size_t n = first; n < needs.size(); ++n) {
        if (needs[n].from <= reads[d][0].from && reads[d][0].to <= needs[n].to) need_of[d] = n;
      }
    }
  }
  return OkStatus();
}

namespace {

// State of one query run: the views and the evaluator.
class Execution {
 public:
  Execution(const plan::ProgramPtr& program, const QueryTimes& times, const RunLimits& limits)
      : program_(program),
        times_(times),
        limits_(limits),
        meter_(limits.check),
        left_{limits.points, limits.label_bytes},
        evaluations_left_(limits.evaluations),
        evaluator_(program, 0, {.meter = &meter_, .max_held_bytes = limits.held_bytes}) {}

  void SetStore(std::vector<ScanView::Feed> feeds, std::vector<size_t> feed_of) {
    store_ = std::make_unique<ScanView>(&domain().demands, &times_, std::move(feeds),
                                        std::move(feed_of), &meter_);
  }

  // Evaluates each subquery at the times when its results are read, innermost subquery first.
  Status RunSubqueries(const std::vector<std::vector<Interval>>& spans) {
    results_.resize(domain().subqueries.size());
    columns_.resize(domain().subqueries.size());
    for (size_t k = 0; k < domain().subqueries.size(); ++k) RETURN_IF_ERROR(RunOne(k, spans[k]));
    return OkStatus();
  }

  Status Evaluate(plan::NodeId node, int64_t tick, Collector* out) {
    RETURN_IF_ERROR(meter_.Check());
    store_->BeginTick(tick);
    views_.clear();
    for (const auto& view : subquery_views_) {
      view->BeginTick(tick);
      views_.push_back(view.get());
    }
    // The evaluation does not read the views of later subqueries yet, so any non-null view works as
    // a placeholder.
    views_.resize(domain().subqueries.size(), store_.get());
    evaluator_.Begin(tick, store_.get(), views_);
    ASSIGN_OR_RETURN(const eval::Vector* result, evaluator_.Evaluate(node));
    RETURN_IF_ERROR(meter_.status());
    return out->Add(tick, *result);
  }

  // Returns the view of a demand's source (plan::DemandRef::source), positioned at `tick`.
  ScanView* ViewOf(uint32_t source, int64_t tick) {
    ScanView* view = source == 0 ? store_.get() : subquery_views_[source - 1].get();
    view->BeginTick(tick);
    return view;
  }

  Collector MakeCollector() { return Collector(&limits_, &left_); }
  const Status& status() const { return meter_.status(); }

 private:
  struct Columns {
    std::vector<std::vector<int64_t>> times;
    std::vector<std::vector<double>> values;
    std::vector<StoredSeries> series;
  };
  const plan::DomainPlan& domain() const { return program_->domains[0]; }

  Status RunOne(size_t k, const std::vector<Interval>& spans) {
    const plan::Subquery& subquery = domain().subqueries[k];
    const int64_t step = subquery.step.ns();
    Collector collector = MakeCollector();
    for (const Interval& one : spans) {
      const int64_t last = FloorTo(one.to, step);
      for (int64_t tick = NextAfter(one.from, step); tick <= last; tick += step) {
        if (evaluations_left_-- == 0)
          return ResourceExhausted(
              "the subqueries of this query have too many steps; use longer steps or shorter "
              "ranges");
        RETURN_IF_ERROR(Evaluate(subquery.expr, tick, &collector));
      }
    }
    results_[k] = collector.Take();
    Columns& columns = columns_[k];
    for (const AnswerSeries& series : results_[k]) {
      columns.times.emplace_back();
      columns.values.emplace_back();
      for (const auto& [time, value] : series.points) {
        columns.times.back().push_back(time);
        columns.values.back().push_back(value);
      }
    }
    for (size_t i = 0; i < results_[k].size(); ++i)
      columns.series.push_back({results_[k][i].labels, columns.times[i], columns.values[i]});
    subquery_views_.push_back(std::make_unique<ScanView>(
        &subquery.demands, &times_, std::vector<ScanView::Feed>{{0, columns.series}},
        std::vector<size_t>(subquery.demands.demands.size(), 0), &meter_));
    return OkStatus();
  }

  const plan::ProgramPtr program_;
  const QueryTimes& times_;
  const RunLimits& limits_;
  WorkMeter meter_;
  Remaining left_;
  size_t evaluations_left_;
  std::unique_ptr<ScanView> store_;
  std::vector<std::vector<AnswerSeries>> results_;  // indexed by subquery
  std::vector<Columns> columns_;
  std::vector<std::unique_ptr<ScanView>> subquery_views_;
  std::vector<ColumnView*> views_;
  eval::Evaluator evaluator_;
};

}  // namespace

StatusOr<std::vector<AnswerSeries>> StoredQuery::Run(
    std::span<const std::vector<StoredSeries>> series, const RunLimits& limits) const {
  const Plan& plan = *plan_;
  if (plan.needs_streaming) return FailedPrecondition("the query requires the streaming engine");
  if (plan.program == nullptr)
    return FailedPrecondition("a string expression does not return series");
  if (series.size() != plan.needs.size())
    return InvalidArgument(Cat("a query with ", plan.needs.size(),
                               " inputs requires one list of series per input (got ", series.size(),
                               ")"));
  Execution execution(plan.program, plan.times, limits);
  const plan::DomainPlan& domain = plan.domain();
  std::vector<ScanView::Feed> feeds;
  for (size_t n = 0; n < plan.needs.size(); ++n) {
    uint32_t selector = 0;
    for (size_t d = 0; d < plan.need_of.size(); ++d) {
      if (plan.need_of[d] == n) selector = domain.demands.demands[d].selector;
    }
    feeds.push_back({selector, series[n]});
  }
  execution.SetStore(std::move(feeds), plan.need_of);
  RETURN_IF_ERROR(execution.RunSubqueries(plan.subquery_spans));
  std::vector<AnswerSeries> out;
  if (plan.type == AnswerType::kMatrix) {
    const plan::Node& root = domain.nodes[plan.root().index()];
    const plan::DemandRef ref = std::get<plan::DemandColumn>(root.operation).ref;
    execution.ViewOf(ref.source, plan.span.start)
        ->VisitWindows(ref.demand, [&](const Labels& labels, std::span<const int64_t> times,
                                       std::span<const double> values) {
          out.push_back({labels, {}});
          for (size_t i = 0; i < times.size(); ++i)
            out.back().points.emplace_back(times[i], values[i]);
        });
    RETURN_IF_ERROR(execution.status());
  } else {
    Collector collector = execution.MakeCollector();
    for (int64_t tick = plan.span.start; tick <= plan.span.end; tick += plan.span.step)
      RETURN_IF_ERROR(execution.Evaluate(plan.root(), tick, &collector));
    out = collector.Take();
  }
  std::sort(out.begin(), out.end(),
            [](const AnswerSeries& a, const AnswerSeries& b) { return a.labels < b.labels; });
  return out;
}

}  // namespace pitwall::query
