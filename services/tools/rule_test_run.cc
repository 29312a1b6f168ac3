#include "services/tools/rule_test_run.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <memory>

#include "services/base/duration.h"
#include "services/base/strings.h"
#include "services/engine/space_runner.h"
#include "services/model/position.h"
#include "services/model/value.h"
#include "services/tools/query.h"
#include "services/tools/rule_test_compare.h"
#include "services/tools/spoken.h"

namespace pitwall::tools {

namespace {

// A multiple of nearly every range that people write, so that windows have few panes.
constexpr int64_t kQueryStep = int64_t{7} * 24 * 3600 * kStepUnit;

// Follows the rules of one test, and remembers all samples for its expressions.
class Watch final : public engine::RuleObserver {
 public:
  explicit Watch(const UnitTest& test) : test_(test) {
    for (const InputSeries& series : test.series) inputs_.emplace(series.labels, &series);
  }

  void Failed(const plan::Rule& rule, const Status& error) override {
    Fail(Cat("rule ", rule.alert, " (", rule.file, ":", rule.line,
             ") fails: ", ToStd(error.message())));
  }
  void Alerts(const alert::AlertInput& input, const alert::AlertState& state) override {
    spoken_.Update(input, state);
  }
  // Prometheus refuses another value at the time of a sample that is there; so does its promtool.
  void Recorded(const Labels& labels, int64_t position, double value) override {
    auto& samples = recorded_[labels];
    const std::optional<double> there = !samples.empty() && samples.back().first == position
                                            ? std::optional(samples.back().second)
                                            : Input(labels, position);
    if (!there.has_value()) {
      samples.emplace_back(position, value);
    } else if (!IsStale(value) &&
               std::bit_cast<uint64_t>(*there) != std::bit_cast<uint64_t>(value)) {
      Fail(Cat("a rule records ", labels.ToString(), ", which has another sample at this time"));
    }
  }

  // "" while no rule has failed.
  const std::string& failure() const { return failure_; }
  const Spoken& spoken() const { return spoken_; }

  // All samples up to `last`.
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
  Spoken spoken_;
  std::string failure_;
};

// Feeds the test's series to one clock, tick by tick.
class Runner {
 public:
  static StatusOr<std::unique_ptr<Runner>> Make(const UnitTest& test, const TestProgram& rules,
                                                size_t space, Watch* watch) {
    std::unique_ptr<Runner> runner(new Runner(test, rules, space));
    runner->runner_.SetObserver(watch);
    runner->watch_ = watch;
    for (const InputSeries& series : test.series) {
      ASSIGN_OR_RETURN(const window::SeriesId id, runner->runner_.store()->Intern(series.labels));
      runner->ids_.push_back(id);
      runner->length_ = std::max(runner->length_, series.values.size());
    }
    runner->runner_.SetOrigin(test.start);
    return runner;
  }

  // Every tick up to `position`, or to one at which a rule fails.
  Status RunTo(int64_t position) {
    for (int64_t tick = runner_.NextTick(); tick <= position && watch_->failure().empty();
         tick = runner_.NextTick()) {
      RETURN_IF_ERROR(Feed(tick));
      engine::Outputs outputs;
      const int64_t step = runner_.clock().step ? tick / kStepUnit : kNoStep;
      runner_.Evaluate({.position = tick, .time_ns = tick, .step = step, .attempt = 1}, job_,
                       &outputs);
      at_ = tick;
    }
    return OkStatus();
  }
  int64_t at() const { return at_; }

 private:
  Runner(const UnitTest& test, const TestProgram& rules, size_t space)
      : test_(test),
        job_{.id = "test", .name = test.name},
        runner_(rules.program, space, engine::EngineOptions{}, &counters_),
        at_(test.start) {}

  Status Feed(int64_t upto) {
    std::vector<double> row(ids_.size());
    for (; next_ < length_; ++next_) {
      const int64_t position = test_.start + static_cast<int64_t>(next_) * test_.interval;
      if (position > upto) break;
      for (size_t i = 0; i < row.size(); ++i) {
        const auto& values = test_.series[i].values;
        row[i] = next_ < values.size() ? values[next_].value_or(MissingValue()) : MissingValue();
      }
      RETURN_IF_ERROR(runner_.store()->Append({position, "test", "", next_, 0}, ids_, row));
    }
    return OkStatus();
  }

  const UnitTest& test_;
  const engine::JobIdentity job_;
  engine::EngineCounters counters_;
  engine::SpaceRunner runner_;
  Watch* watch_ = nullptr;
  std::vector<window::SeriesId> ids_;
  size_t length_ = 0;
  size_t next_ = 0;
  int64_t at_;
};

class TestRun {
 public:
  TestRun(const UnitTestFile& file, const UnitTest& test, const TestProgram& rules, Tally* tally)
      : file_(file), test_(test), rules_(rules), tally_(tally), watch_(test) {}

  Status Run() {
    RETURN_IF_ERROR(CheckTimes());
    std::unique_ptr<Runner> runner;
    const ClockSpec clock{.step = test_.step, .mode = test_.mode};
    for (size_t i = 0; i < rules_.program->spaces.size(); ++i) {
      if (rules_.program->spaces[i].demands.clock != clock) continue;
      ASSIGN_OR_RETURN(runner, Runner::Make(test_, rules_, i, &watch_));
    }
    if (runner == nullptr && test_.step)
      return InvalidArgument(Cat("no rule runs on the clock ", clock.ToString()));
    std::vector<AlertCase> alerts = test_.alerts;
    std::stable_sort(alerts.begin(), alerts.end(),
                     [](const auto& a, const auto& b) { return a.eval_time < b.eval_time; });
    for (const AlertCase& alert : alerts) {
      if (runner != nullptr) RETURN_IF_ERROR(runner->RunTo(test_.start + alert.eval_time));
      if (Broken()) return OkStatus();
      Count(alert.position, Cat("alert ", alert.alert, At(alert.eval_time)),
            CompareAlerts(alert, watch_.spoken().Firing(alert.alert), !rules_.own_keys));
    }
    int64_t last = 0;
    for (const ExprCase& expr : test_.exprs) last = std::max(last, expr.eval_time);
    if (runner != nullptr) RETURN_IF_ERROR(runner->RunTo(test_.start + last));
    if (Broken() || test_.exprs.empty()) return OkStatus();
    // What came after the last evaluation nobody has loaded.
    const std::vector<QuerySeries> samples =
        watch_.Samples(runner != nullptr ? runner->at() : test_.start);
    for (const ExprCase& expr : test_.exprs) {
      Count(expr.position, Cat("expression ", Quote(expr.expr), At(expr.eval_time)),
            Ask(expr, samples));
    }
    return OkStatus();
  }

 private:
  Status CheckTimes() const {
    int64_t last = 0;
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
    return InvalidArgument("its times are beyond what the engine counts, which is the year 2043");
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
    std::printf("%s:%d: %s: %s:\n%s", file_.name.c_str(), position.line, test_.name.c_str(),
                what.c_str(), difference.c_str());
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

}  // namespace pitwall::tools
