// Compares the numbers in reports against the underlying samples, for empty, small, and large jobs.
#include "services/history/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "services/history/report/html.h"
#include "services/history/report/json.h"
#include "services/history/report/testing/report_fixture.h"
#include "services/history/views/resource_table.h"

namespace pitwall::history {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Report : public ::testing::Test {
 protected:
  Document Make(RuleDefinitions rules = {}) {
    const StatusOr<Document> made = MakeReport({.history = &history_,
                                                .job = *history_.FindJob("j"),
                                                .rules = std::move(rules),
                                                .version = "1"});
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *made : Document();
  }
  template <typename T>
  static const T& Get(const Document& document, std::string_view id) {
    static const T kNone{};
    const T* found = FindBlock<T>(document, id);
    EXPECT_NE(found, nullptr) << id;
    return found == nullptr ? kNone : *found;
  }
  static double Number(const Cell& cell) {
    const auto* number = std::get_if<double>(&cell);
    const auto* count = std::get_if<int64_t>(&cell);
    EXPECT_TRUE(number != nullptr || count != nullptr);
    return number != nullptr ? *number : count != nullptr ? static_cast<double>(*count) : NAN;
  }

  VectorHistory history_;
};

TEST_F(Report, NumbersMatchSamples) {
  history_.Edit("j", [](auto* job) { FillJob(job, 4, 30); });
  const Document report = Make();
  const Facts& facts = Get<Facts>(report, "job-facts");
  EXPECT_EQ(Number(FactOf(facts, "duration_seconds")), 50);
  EXPECT_EQ(Number(FactOf(facts, "initialization_seconds")), 10);
  EXPECT_EQ(Number(FactOf(facts, "loop_seconds")), 30);
  EXPECT_EQ(Number(FactOf(facts, "finalization_seconds")), 10);
  EXPECT_EQ(Number(FactOf(facts, "initialization_share")), 0.2);
  double whole = 0;
  for (const Bar& bar : Get<BarChart>(report, "job-parts").bars) whole += bar.value;
  EXPECT_THAT(whole, DoubleNear(1, 1e-12));

  // There are 119 steps of one second and one step of 2.5 s.
  const Table& steps = Get<Table>(report, "step-nodes");
  ASSERT_THAT(steps.rows, SizeIs(1));
  EXPECT_EQ(Number(CellOf(steps, 0, "count")), 120);
  EXPECT_THAT(Number(CellOf(steps, 0, "mean_seconds")), DoubleNear(121.5 / 120, 1e-9));
  EXPECT_EQ(Number(CellOf(steps, 0, "max_seconds")), 2.5);
  EXPECT_EQ(Number(CellOf(steps, 0, "p50_seconds")), 1);
  EXPECT_EQ(Number(CellOf(steps, 0, "outliers")), 1);
  const Table& outliers = Get<Table>(report, "step-outliers");
  ASSERT_THAT(outliers.rows, SizeIs(1));
  EXPECT_EQ(Number(CellOf(outliers, 0, "step")), 29);
  EXPECT_EQ(Number(CellOf(outliers, 0, "rank")), 3);
  EXPECT_EQ(Number(CellOf(outliers, 0, "times")), 2.5);
  double counted = 0;
  for (const Bar& bar : Get<BarChart>(report, "step-histogram").bars) counted += bar.value;
  EXPECT_EQ(counted, 120);

  // The forward phase takes 0.75 s in each of the 120 steps, including the slow one.
  const Table& phases = Get<Table>(report, "phase-times");
  ASSERT_THAT(phases.rows, SizeIs(2));
  EXPECT_EQ(std::get<std::string>(CellOf(phases, 0, "phase")), "forward");
  EXPECT_THAT(Number(CellOf(phases, 0, "seconds")), DoubleNear(90, 1e-9));
  EXPECT_THAT(Number(CellOf(phases, 0, "share")) + Number(CellOf(phases, 1, "share")),
              DoubleNear(1, 1e-12));

  // (7 s + rank) mod 20 takes each of 20 values exactly once, so all quantiles are known.
  const Table& resources = Get<Table>(report, "resources");
  ASSERT_THAT(resources.rows, SizeIs(1));
  EXPECT_EQ(Number(CellOf(resources, 0, "count")), 80);
  EXPECT_EQ(Number(CellOf(resources, 0, "max")), 0.95);
  EXPECT_EQ(Number(CellOf(resources, 0, "p50")), 0.45);
  EXPECT_EQ(Number(CellOf(resources, 0, "min")), 0);
  const BoxChart& gpus = Get<BoxChart>(report, "gpu-utilization");
  ASSERT_THAT(gpus.boxes, SizeIs(4));
  EXPECT_EQ(gpus.boxes[0].p50, 0.45);
  EXPECT_EQ(gpus.boxes[0].p5, 0);
  EXPECT_EQ(gpus.boxes[0].max, 0.95);
  EXPECT_EQ(gpus.boxes[0].name, "node-0 gpu 0");
  EXPECT_THAT(Number(CellOf(Get<Table>(report, "balance"), 0, "distance")), DoubleNear(0, 1e-12));
  ASSERT_THAT(Get<LineChart>(report, "curve-train_loss").lines, SizeIs(1));
  EXPECT_THAT(Get<LineChart>(report, "curve-train_loss").lines[0].x, SizeIs(30));
}

TEST_F(Report, ShowsCriteriaOfRulesAndEvidenceOfIssues) {
  history_.Edit("j", [](auto* job) {
    FillJob(job, 4, 30);
    const IssueEvent found = IssueAt("p/g/Slow", EventType::kIssueFound, 1, 14);
    IssueEvent updated = IssueAt("p/g/Slow", EventType::kIssueUpdated, 2, 16);
    updated.incident = found.id;
    updated.value = 2.75;
    for (const IssueEvent& event : {found, updated})
      job->events.push_back(std::make_shared<IssueEvent>(event));
    IssueEvent status;
    status.type = EventType::kRuleStatus;
    status.job = "j";
    status.rule = "p/g/Quiet";
    status.status = RuleStatus::kNoData;
    status.status_reason = "no series of hw_errors_total";
    job->events.push_back(std::make_shared<IssueEvent>(status));
  });
  RuleDefinition slow;
  slow.rule = "p/g/Slow";
  slow.description = "Description of the rule.";
  slow.needs = {"train_step_duration_seconds", "train_loss"};
  RuleDefinition quiet;
  quiet.rule = "p/g/Quiet";
  quiet.needs = {"hw_errors_total"};
  quiet.parameters = {{"limit", "3", "", ""}, {"names", "\"a.*\"", "", ""}};
  const Document report = Make({{slow.rule, slow}, {quiet.rule, quiet}});
  const Table& found = Get<Table>(report, "rules-found");
  ASSERT_THAT(found.rows, SizeIs(1));
  EXPECT_EQ(std::get<std::string>(CellOf(found, 0, "description")), "Its steps take longer.");
  EXPECT_EQ(std::get<std::string>(CellOf(found, 0, "recommendation")), "Look at its GPU.");
  EXPECT_EQ(std::get<std::string>(CellOf(found, 0, "parameters")), "ratio=1.5");
  EXPECT_EQ(Number(CellOf(found, 0, "found")), 1);
  EXPECT_EQ(Number(CellOf(found, 0, "datapoints")), 4 * 30 + 30);
  const Table& others = Get<Table>(report, "rules-others");
  ASSERT_THAT(others.rows, SizeIs(1));
  EXPECT_EQ(std::get<std::string>(CellOf(others, 0, "status")), "NoData");
  EXPECT_EQ(std::get<std::string>(CellOf(others, 0, "reason")), "no series of hw_errors_total");
  EXPECT_EQ(std::get<std::string>(CellOf(others, 0, "parameters")), "limit=3, names=\"a.*\"");
  EXPECT_EQ(Number(CellOf(others, 0, "datapoints")), 0);

  const Facts& facts = Get<Facts>(report, "issue-1-facts");
  EXPECT_EQ(Number(FactOf(facts, "value")), 2.75);
  EXPECT_EQ(Number(FactOf(facts, "threshold")), 1.5);
  const LineChart& chart = Get<LineChart>(report, "issue-1-chart");
  EXPECT_EQ(chart.threshold, 1.5);
  ASSERT_THAT(chart.lines, SizeIs(2));
  EXPECT_THAT(chart.lines[0].name, HasSubstr("train_step_duration_seconds"));
  EXPECT_THAT(chart.lines[1].y, ::testing::ElementsAre(2.5, 2.75));
  ASSERT_THAT(chart.stretches, SizeIs(2));
  EXPECT_EQ(chart.stretches[0].from, AtSecond(12));
  EXPECT_EQ(chart.stretches[1].from, AtSecond(13));
  EXPECT_THAT(Get<Paragraph>(report, "open-1").text, HasSubstr("Rank 3 is slow (rank=3), since "));
  EXPECT_THAT(ReportHtml(report), HasSubstr("data-threshold=\"1.5\""));
}

TEST_F(Report, ShowsConfusionAndImportanceOfBoostedTrees) {
  history_.Edit("j", [](auto* job) {
    FillJob(job, 1, 10);
    const auto add = [&](Labels labels, std::vector<double> values) {
      job->columns.push_back(
          VectorHistory::ColumnOf(std::move(labels), {11, 12}, std::move(values), {0, 1}));
    };
    const auto cell = [&](const char* label, const char* prediction, double count) {
      add({{kMetricName, "train_confusion_samples"}, {"label", label}, {"prediction", prediction}},
          {1, count});
    };
    cell("0", "0", 8);
    cell("0", "1", 2);
    cell("1", "0", 1);
    cell("1", "1", 9);
    for (const auto& [feature, share] : {std::pair("age", 0.75), std::pair("height", 0.25)})
      add({{kMetricName, "train_feature_importance_ratio"}, {"feature", feature}, {"type", "gain"}},
          {0, share});
  });
  const Document report = Make();
  const BarChart& importance = Get<BarChart>(report, "importance-gain");
  ASSERT_THAT(importance.bars, SizeIs(2));
  EXPECT_EQ(importance.bars[0].name, "age");
  EXPECT_EQ(importance.bars[0].value, 0.75);
  const Table& matrix = Get<Table>(report, "confusion-train");
  EXPECT_EQ(Number(CellOf(matrix, 0, "as_1")), 2);
  EXPECT_EQ(Number(CellOf(matrix, 1, "as_0")), 1);
  const Table& scores = Get<Table>(report, "scores-train");
  ASSERT_THAT(scores.rows, SizeIs(5));
  EXPECT_THAT(Number(CellOf(scores, 0, "precision")), DoubleNear(8.0 / 9, 1e-12));
  EXPECT_THAT(Number(CellOf(scores, 0, "recall")), DoubleNear(0.8, 1e-12));
  EXPECT_THAT(Number(CellOf(scores, 1, "f1")), DoubleNear(18.0 / 21, 1e-12));
  EXPECT_THAT(Number(CellOf(scores, 2, "f1")), DoubleNear(0.85, 1e-12));  // micro average: 17 of 20
  EXPECT_THAT(Number(CellOf(scores, 3, "recall")), DoubleNear(0.85, 1e-12));
}

// The sample pairs are the same as in the page's test (browser/training.spec.ts).
TEST_F(Report, ShowsRocCurveAndResiduals) {
  history_.Edit("j", [](auto* job) {
    FillJob(job, 1, 10);
    const auto add = [&](Labels labels, std::vector<double> values) {
      job->columns.push_back(
          VectorHistory::ColumnOf(std::move(labels), {11, 12}, std::move(values), {0, 1}));
    };
    const auto score = [&](const char* rank, const char* bin, const char* label, double count) {
      add({{kMetricName, "train_score_samples"}, {"bin", bin}, {"class", label}, {"rank", rank}},
          {5, count});
    };
    // Bins sort as numbers, so 10 follows 9 and has the highest probability. Two ranks contribute
    // to one curve.
    score("0", "10", "1", 2);
    score("1", "10", "1", 1);
    score("0", "10", "0", 0);
    score("0", "9", "1", 1);
    score("0", "9", "0", 2);
    score("0", "0", "1", 0);
    score("0", "0", "0", 2);
    for (const auto& [from, count] : {std::pair("10", 3.0), std::pair("-2.5", 1.0)})
      add({{kMetricName, "train_residual_samples"}, {"bin", from}, {"from", from}}, {9, count});
    // These bin edges belong to an earlier attempt.
    job->columns.push_back(VectorHistory::ColumnOf(
        {{kMetricName, "train_residual_samples"}, {"bin", "0"}, {"from", "-7"}}, {11}, {4}, {0}));
  });
  const Document report = Make();
  // Of the 4 × 4 pairs, the first bin contributes 3 × 4. In the second bin, 1 × 2 pairs count half
  // and 1 × 2 pairs count fully.
  EXPECT_THAT(Number(FactOf(Get<Facts>(report, "roc-area-train"), "area")),
              DoubleNear(15.0 / 16, 1e-12));
  EXPECT_EQ(Number(FactOf(Get<Facts>(report, "roc-area-train"), "samples")), 8);
  const Table& roc = Get<Table>(report, "roc-train");
  ASSERT_THAT(roc.rows, SizeIs(3));
  EXPECT_EQ(Number(CellOf(roc, 0, "false_positive_rate")), 0);
  EXPECT_EQ(Number(CellOf(roc, 0, "true_positive_rate")), 0.75);
  EXPECT_EQ(Number(CellOf(roc, 1, "false_positive_rate")), 0.5);
  EXPECT_EQ(Number(CellOf(roc, 2, "true_positive_rate")), 1);
  const BarChart& residuals = Get<BarChart>(report, "residuals-train");
  ASSERT_THAT(residuals.bars, SizeIs(2));
  EXPECT_EQ(residuals.bars[0].name, "-2.5");
  EXPECT_EQ(residuals.bars[0].value, 1);
  EXPECT_EQ(residuals.bars[1].value, 3);
}

TEST_F(Report, JobWithoutData_ExplainsMissingData) {
  history_.Edit("j", [](auto*) {});
  const Document report = Make();
  EXPECT_THAT(Get<Paragraph>(report, "nothing").text, HasSubstr("No issues found"));
  EXPECT_THAT(Get<Paragraph>(report, "job-text").text,
              HasSubstr("No training step has been recorded yet"));
  EXPECT_THAT(Get<Paragraph>(report, "system-none").text, HasSubstr("pitwall collector"));
  EXPECT_THAT(Get<Paragraph>(report, "framework-none").text, HasSubstr("import pitwall"));
  EXPECT_THAT(ReportHtml(report), HasSubstr("</html>"));
}

TEST_F(Report, JobWithFewOrNoSteps_HasReport) {
  for (const int steps : {0, 1, 3}) {
    history_.Edit("j", [&](auto* job) {
      *job = {};
      job->life.id = "j";
      FillJob(job, 1, steps);
    });
    const Document report = Make();
    const Table* table = FindBlock<Table>(report, "step-nodes");
    ASSERT_EQ(table != nullptr, steps > 0);
    if (table != nullptr) {
      EXPECT_EQ(Number(CellOf(*table, 0, "count")), steps);
    }
    EXPECT_THAT(ReportHtml(report), HasSubstr("</html>"));
    EXPECT_THAT(ReportJson(report), HasSubstr("\"sections\":["));
  }
}

// The overview lists three incidents. The critical one is among them, even though info issues
// followed it.
TEST_F(Report, WorstOpenIncidentsComeFirst) {
  for (const bool open : {true, false}) {
    history_.Edit("j", [&](auto* job) {
      FillJob(job, 4, 30);
      job->events.clear();
      for (int i = 0; i < 5; ++i) {
        const auto type = open ? EventType::kIssueFound : EventType::kIssueResolved;
        IssueEvent event = IssueAt(Cat("p/g/Rule", i), type, 1, 14 + i);
        event.severity = i == 1 ? "critical" : "info";
        event.started_at = EventTime::FromNs(AtSecond(13 + i));
        event.summary = Cat("Summary ", i);
        if (!open) event.end_reason = i == 4 ? EndReason::kCleared : EndReason::kJobEnded;
        job->events.push_back(std::make_shared<IssueEvent>(std::move(event)));
      }
    });
    const Document report = Make();
    const std::string state = open ? "open-" : "ended-";
    const std::vector<std::string> expected =
        open ? std::vector<std::string>{"Summary 1", "Summary 4", "Summary 3"}
             : std::vector<std::string>{"Summary 1", "Summary 3", "Summary 2"};
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_THAT(Get<Paragraph>(report, Cat(state, i + 1)).text, HasSubstr(expected[i])) << state;
  }
}

TEST_F(Report, ThousandRanksStayWithinLimits) {
  history_.Edit("j", [](auto* job) {
    FillJob(job, 1024, 40);
    for (uint64_t i = 0; i < 500; ++i) {
      IssueEvent event = IssueAt(Cat("p/g/Rule", i), EventType::kIssueFound, 1, 14);
      job->events.push_back(std::make_shared<IssueEvent>(std::move(event)));
    }
  });
  const Document report = Make();
  EXPECT_EQ(
      Get<Table>(report, "step-nodes").rows.size() + Get<Table>(report, "step-nodes").left_out,
      128);
  EXPECT_THAT(Get<BoxChart>(report, "gpu-utilization").boxes, SizeIs(32));
  // The only slow rank is first.
  EXPECT_EQ(Get<BoxChart>(report, "step-ranks").boxes.size(), 32U);
  EXPECT_EQ(Number(CellOf(Get<Table>(report, "step-outliers"), 0, "rank")), 1023);
  for (const Section& section : report.sections) {
    for (const Block& block : section.blocks) {
      const auto* table = std::get_if<Table>(&block);
      EXPECT_TRUE(table == nullptr || table->rows.size() <= 400U) << table->id;
    }
  }
  EXPECT_LT(ReportHtml(report).size(), 3U << 20);
  EXPECT_LT(ReportJson(report).size(), 3U << 20);
}

}  // namespace
}  // namespace pitwall::history
