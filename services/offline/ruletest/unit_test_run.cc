#include "services/offline/ruletest/unit_test_run.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>

#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/model/position.h"
#include "services/model/value.h"
#include "services/offline/query.h"
#include "services/offline/ruletest/firing_annotations.h"
#include "services/offline/ruletest/unit_test_compare.h"

namespace pitwall::offline {

namespace {

// Query interval. It is a multiple of nearly every common range, so windows have few panes.
constexpr int64_t kQueryStep = int64_t{7} * 24 * 3600 * kStepUnit;

// Observes the rules of one test and collects all samples for the test's expressions.
class Watch final : public engine::RuleObserver {
 public:
  explicit Watch(const UnitTest& test) : test_(test) {
    for (const InputSeries& series : test.series) inputs_.emplace(series.labels, &series);
  }

  // As in promtool, a failing rule ends the test unless a test case expects the failure.
  void Failed(const plan::Rule& rule, const Status& error) override {
    for (const StatusCase& status : test_.statuses) {
      if (status.status == RuleStatus::kError && status.alert == rule.alert) return;
    }
    Fail(Cat("rule ", rule.alert, " (", rule.file, ":", rule.line,
             ") fails: ", ToStd(error.message())));
  }
  void Alerts(const alert::AlertInput& input, const alert::AlertState& state) override {
    spoken_.Update(input, state);
  }
  void Ended(const alert::AlertRule& rule) override { spoken_.Ended(rule); }
  // Prometheus and promtool reject a second value for an existing series and time.
  void Recorded(const Labels& labels, Position at, double value) override {
    const int64_t position = at.ns();
    auto& samples = recorded_[labels];
    const std::optional<double> there = !samples.empty() && samples.back().first == position
                                            ? std::optional(samples.back().second)
                                            : Input(labels, position);
    if (!there.has_value()) {
      samples.emplace_back(position, value);
    } else if (!IsStale(value) &&
               std::bit_cast<uint64_t>(*there) != std::bit_cast<uint64_t>(value)) {
      Fail(Cat("a rule records ", labels.ToString(),
               ", which already has a different sample at this time"));
    }
  }

  // Records a stale marker that was produced by the runner rather than by a rule.
  void Stale(const Labels& labels, int64_t position) {
    recorded_[labels].emplace_back(position, StaleMarker());
  }

  // Error from the first rule that failed, or "".
  const std::string& failure() const { return failure_; }
  const FiringAnnotations& spoken() const { return spoken_; }

  // Returns all samples up to `last`.
  std::vector<QuerySeries> Samples(int64_t last) const {
    std::map<Labels, QuerySeries> all;
    for (const InputSeries& series : test_.series) {
      QuerySeries& out = all[series.labels];
      for (size_t i = 0; i < series.values.size(); ++i) {
        const int64_t position = test_.start + static_cast<int64_t>(i) * test_.interval;
        if (position > last) break;
        if (series.values[i].has_value()) out.samples.emplace_back(position, *series.values[i]);
      }
    }
    for (const auto& [labels, samples] : recorded_) {
      auto& out = all[labels].samples;
      out.insert(out.end(), samples.begin(), samples.end());
      std::stable_sort(out.begin(), out.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    std::vector<QuerySeries> out;
    for (auto& [labels, series] : all) {
      series.labels = labels;
      out.push_back(std::move(series));
    }
    return out;
  }

 private:
  std::optional<double> Input(const Labels& labels, int64_t position) const {
    const auto found = inputs_.find(labels);
    const int64_t since = position - test_.start;
    if (found == inputs_.end() || since % test_.interval != 0) return std::nullopt;
    const auto& values = found->second->values;
    const auto i = static_cast<size_t>(since / test_.interval);
    return i < values.size() ? values[i] : std::nullopt;
  }
  void Fail(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }

  const UnitTest& test_;
  std::map<Labels, const InputSeries*> inputs_;
  std::map<Labels, std::vector<std::pair<int64_t, double>>> recorded_;
  FiringAnnotations spoken_;
  std::string failure_;
};

// Feeds the test's series to one clock, tick by tick.
class Runner {
 public:
  static StatusOr<std::unique_ptr<Runner>> Make(const UnitTest& test, const TestProgram& rules,
                                                size_t domain, Watch* watch) {
    std::unique_ptr<Runner> runner(new Runner(test, rules, domain));
    runner->runner_.evaluator().SetObserver(watch);
    runner->watch_ = watch;
    for (const InputSeries& series : test.series) {
      ASSIGN_OR_RETURN(const window::SeriesId id, runner->runner_.store()->Intern(series.labels));
      runner->ids_.push_back(id);
      runner->length_ = std::max(runner->length_, series.values.size());
    }
    runner->runner_.ticks().SetOrigin(Position::FromNs(test.start));
    return runner;
  }

  // Runs all attempts and ticks up to `position`, or until a rule fails.
  Status RunTo(int64_t position) {
    while (watch_->failure().empty()) {
      const int64_t tick = runner_.ticks().NextTick().ns();
      const int64_t attempt = NextAttempt();
      if (std::min(tick, attempt) > position) break;
      if (attempt <= tick) {
        RETURN_IF_ERROR(BeginAttempt(attempt));
        continue;
      }
      RETURN_IF_ERROR(Feed(tick));
      engine::EventSink outputs;
      runner_.Evaluate(ContextAt(tick), job_, &outputs);
      at_ = tick;
      JudgeNeeds(tick);
    }
    if (position > at_) JudgeNeeds(position);
    return OkStatus();
  }
  int64_t at() const { return at_; }
  std::vector<engine::RuleStatusNow> Statuses() { return runner_.rules().Statuses(); }

 private:
  Runner(const UnitTest& test, const TestProgram& rules, size_t domain)
      : test_(test),
        job_{.id = "test", .name = test.name},
        runner_(rules.program, domain, engine::EngineOptions{}, &counters_),
        at_(test.start),
        attempt_at_(test.start) {}

  EvalTime ContextAt(int64_t position) const {
    return {.position = Position::FromNs(position),
            .time = EventTime::FromNs(position),
            .step = test_.step ? StepOf(Position::FromNs(position)) : Step::None(),
            .attempt = 1 + attempts_};
  }
  int64_t NextAttempt() const {
    return attempts_ < test_.attempts.size() ? test_.start + test_.attempts[attempts_]
                                             : kMaxPosition;
  }

  // Starts an attempt like Job::BeginAttempt (time-model.md, section 4). All train_* series in the
  // test belong to the previous attempt. Samples at `position` belong to the new attempt.
  Status BeginAttempt(int64_t position) {
    RETURN_IF_ERROR(Feed(position - 1));
    engine::EventSink outputs;
    if (test_.step) {
      runner_.evaluator().EndAll(EndReason::kAttemptEnded, false,
                                 {ContextAt(position), job_, &outputs});
      runner_.RestartWindows();
      runner_.ticks().StartAt(Position::FromNs(position));
    } else {
      // The stale markers are placed just before the start of the attempt, because a series may
      // have a sample exactly at the start.
      std::vector<window::SeriesId> ended;
      for (size_t i = 0; i < ids_.size(); ++i) {
        const Labels& labels = test_.series[i].labels;
        if (!StartsWith(labels.Name(), "train_") || !HasSample(test_.series[i], position - 1))
          continue;
        ended.push_back(ids_[i]);
        watch_->Stale(labels, position - 1);
      }
      if (!ended.empty()) {
        RETURN_IF_ERROR(runner_.store()->AppendStale(
            {Position::FromNs(position - 1), "test", "", next_, UINT32_MAX}, ended));
      }
      runner_.evaluator().EndAll(EndReason::kAttemptEnded, true,
                                 {ContextAt(position), job_, &outputs});
      runner_.BeginAttempt(EventTime::FromNs(position));
    }
    ++attempts_;
    attempt_at_ = position;
    return OkStatus();
  }

  // Returns true if the attempt has samples up to `position` and the newest sample is not a stale
  // marker.
  bool HasSample(const InputSeries& series, int64_t position) const {
    const int64_t since = position - test_.start;
    for (auto i = std::min(static_cast<int64_t>(series.values.size()) - 1, since / test_.interval);
         i >= 0 && test_.start + i * test_.interval >= attempt_at_; --i) {
      const auto& value = series.values[static_cast<size_t>(i)];
      if (value.has_value()) return !IsStale(*value);
    }
    return false;
  }

  // Checks the rules' requirements. A live engine does this every few seconds on the time clock,
  // but a test on the step clock has only steps. The series seen so far substitute for those that a
  // live source sends.
  void JudgeNeeds(int64_t position) {
    if (!test_.step) return;
    const auto carried = [&](std::string_view metric) {
      return std::any_of(test_.series.begin(), test_.series.end(), [&](const InputSeries& series) {
        return series.labels.Name() == metric && HasSample(series, position);
      });
    };
    engine::EventSink outputs;
    runner_.evaluator().JudgeNeeds(carried, {ContextAt(position), job_, &outputs});
  }

  Status Feed(int64_t upto) {
    std::vector<double> row(ids_.size());
    for (; next_ < length_; ++next_) {
      const int64_t position = test_.start + static_cast<int64_t>(next_) * test_.interval;
      if (position > upto) break;
      for (size_t i = 0; i < row.size(); ++i) {
        const auto& values = test_.series[i].values;
        row[i] = next_ < values.size() ? values[next_].value_or(MissingValue()) : MissingValue();
      }
      RETURN_IF_ERROR(
          runner_.store()->Append({Position::FromNs(position), "test", "", next_, 0}, ids_, row));
    }
    return OkStatus();
  }

  const UnitTest& test_;
  const engine::JobIdentity job_;
  engine::EngineCounters counters_;
  engine::ClockDomain runner_;
  Watch* watch_ = nullptr;
  std::vector<window::SeriesId> ids_;
  size_t length_ = 0;
  size_t next_ = 0;
  int64_t at_;
  size_t attempts_ = 0;  // attempts that began after the start of the test
  int64_t attempt_at_;
};

class TestRun {
 public:
  TestRun(const UnitTestFile& file, const UnitTest& test, const TestProgram& rules, Tally* tally)
      : file_(file), test_(test), rules_(rules), tally_(tally), watch_(test) {}

  Status Run() {
    RETURN_IF_ERROR(CheckTimes());
    std::unique_ptr<Runner> runner;
    const ClockSpec clock{.step = test_.step, .mode = test_.mode};
    for (size_t i = 0; i < rules_.program->domains.size(); ++i) {
      if (rules_.program->domains[i].demands.clock != clock) continue;
      ASSIGN_OR_RETURN(runner, Runner::Make(test_, rules_, i, &watch_));
    }
    if (runner == nullptr && test_.step)
      return InvalidArgument(Cat("no rule uses the clock ", clock.ToString()));
    std::vector<Asked> cases;
    for (const AlertCase& alert : test_.alerts) cases.push_back({alert.eval_time, &alert, nullptr});
    for (const StatusCase& status : test_.statuses)
      cases.push_back({status.eval_time, nullptr, &status});
    std::stable_sort(cases.begin(), cases.end(),
                     [](const Asked& a, const Asked& b) { return a.eval_time < b.eval_time; });
    for (const Asked& asked : cases) {
      if (runner != nullptr) RETURN_IF_ERROR(runner->RunTo(test_.start + asked.eval_time));
      if (Broken()) return OkStatus();
      if (asked.alert != nullptr) {
        Count(asked.alert->position, Cat("alert ", asked.alert->alert, At(asked.eval_time)),
              CompareAlerts(*asked.alert, watch_.spoken().Firing(asked.alert->alert),
                            !rules_.own_keys));
      } else {
        Count(
            asked.status->position, Cat("status of ", asked.status->alert, At(asked.eval_time)),
            CompareStatus(*asked.status, runner != nullptr ? runner->Statuses()
                                                           : std::vector<engine::RuleStatusNow>()));
      }
    }
    int64_t last = 0;
    for (const ExprCase& expr : test_.exprs) last = std::max(last, expr.eval_time);
    if (runner != nullptr) RETURN_IF_ERROR(runner->RunTo(test_.start + last));
    if (Broken() || test_.exprs.empty()) return OkStatus();
    // Samples after the last evaluation are ignored.
    const std::vector<QuerySeries> samples =
        watch_.Samples(runner != nullptr ? runner->at() : test_.start);
    for (const ExprCase& expr : test_.exprs) {
      Count(expr.position, Cat("expression ", Quote(expr.expr), At(expr.eval_time)),
            Ask(expr, samples));
    }
    return OkStatus();
  }

 private:
  struct Asked {
    int64_t eval_time;
    const AlertCase* alert;    // set for an alert case
    const StatusCase* status;  // set for a status case
  };

  Status CheckTimes() const {
    int64_t last = test_.attempts.empty() ? 0 : test_.attempts.back();
    for (const StatusCase& status : test_.statuses) last = std::max(last, status.eval_time);
    for (const AlertCase& alert : test_.alerts) last = std::max(last, alert.eval_time);
    for (const ExprCase& expr : test_.exprs) last = std::max(last, expr.eval_time);
    int64_t longest = 0;
    for (const InputSeries& series : test_.series) {
      if (__builtin_mul_overflow(static_cast<int64_t>(series.values.size()), test_.interval,
                                 &longest))
        longest = kMaxPosition;
      last = std::max(last, longest);
    }
    if (last < kMaxPosition - std::max<int64_t>(test_.start, 0)) return OkStatus();
    return InvalidArgument("times must be before the year 2043");
  }

  std::string Ask(const ExprCase& expr, const std::vector<QuerySeries>& samples) const {
    const int64_t at = test_.start + expr.eval_time;
    const auto answer = RunQuery(samples, {.expr = expr.expr,
                                           .start = at,
                                           .end = at,
                                           .step = kQueryStep,
                                           .subquery_interval = file_.evaluation_interval});
    if (!answer.ok()) return Cat("  it fails: ", ToStd(answer.status().message()), "\n");
    if (answer->type == QueryType::kString)
      return "  its result is a string, neither a vector nor a scalar\n";
    return CompareSamples(expr, answer->ticks.at(0).elements, file_.fuzzy_compare);
  }

  std::string At(int64_t time) const {
    return test_.step ? Cat(" at step ", time / kStepUnit) : Cat(" at ", FormatDuration(time));
  }
  bool Broken() {
    if (watch_.failure().empty()) return false;
    Count(test_.position, watch_.failure(), "  the test ends here\n");
    return true;
  }
  void Count(yaml::Position position, const std::string& what, const std::string& difference) {
    ++(difference.empty() ? tally_->passed : tally_->failed);
    if (difference.empty()) return;
    Print(Cat(file_.name, ":", position.line, ": ", test_.name, ": ", what, ":\n", difference));
  }

  const UnitTestFile& file_;
  const UnitTest& test_;
  const TestProgram& rules_;
  Tally* const tally_;
  Watch watch_;
};

}  // namespace

Status RunUnitTest(const UnitTestFile& file, const UnitTest& test, const TestProgram& rules,
                   Tally* tally) {
  return Annotate(TestRun(file, test, rules, tally).Run(),
                  Cat(file.name, ":", test.position.line, ": ", test.name));
}

}  // namespace pitwall::offline
