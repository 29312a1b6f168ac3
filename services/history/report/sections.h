// The sections of a report, and what they share. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/history/report/document.h"
#include "services/history/report/report.h"
#include "services/history/views/issue_list.h"
#include "services/history/views/job_summary.h"
#include "services/history/views/resource_table.h"
#include "services/history/views/steps/step_table.h"

namespace pitwall::history {

// Bounds of a report.
inline constexpr size_t kMostRows = 64;  // of a table, but for rules
inline constexpr size_t kMostRuleRows = 400;
inline constexpr size_t kMostBoxes = 32;
inline constexpr size_t kMostLines = 6;           // of a chart
inline constexpr size_t kMostPoints = 400;        // of a line
inline constexpr size_t kMostIssues = 20;         // told in full
inline constexpr size_t kMostStepRows = 100'000;  // steps × ranks that are looked at
inline constexpr size_t kMostSteps = 2000;
inline constexpr ReadLimits kReportLimits = {.series = 20'000, .rows = 4'000'000};

// What was read of the job, once for all sections.
struct ReportContext {
  const ReportRequest& request;
  const JobOverview& life;
  JobSummary summary;
  std::vector<IssueEventPtr> events;
  std::vector<Issue> issues;  // newest first
  std::vector<RuleState> states;
  std::vector<ActionEvent> actions;
  std::vector<RankCapture> captures;
  std::vector<NotificationRecord> notifications;
  std::vector<ResourceRow> resources;
  std::vector<StepRow> steps;  // of the last ones, by step and rank
  int64_t from_step = 0, to_step = 0;

  const History& history() const { return *request.history; }
  TimeRange whole() const { return {life.first_ns, std::max(life.first_ns, life.last_ns) + 1}; }
  SeriesQuery Query(std::vector<Selector> selectors) const {
    return {life.id, std::move(selectors), whole(), kReportLimits};
  }
  StepQuery Steps() const;
};

// Means of a series over equal stretches of time; the samples themselves of a short job with few
// series.
struct Reading {
  Labels labels;
  std::vector<int64_t> times_ns;
  std::vector<double> values;
};
struct Readings {
  std::string basis;  // samples, 10s, 2m, 30m
  std::vector<Reading> series;
};
StatusOr<Readings> ReadMeans(const ReportContext& story, std::vector<Selector> selectors);

// "node gpu 3" of a device's labels.
std::string DeviceName(const Labels& labels);
// Labels but the metric and the alert, as `rank="5", node="a"`.
std::string LabelText(const Labels& labels);
Box BoxOf(std::string name, std::vector<double> values);
// Returns "1 issue" or "2 issues".
std::string Counted(uint64_t count, std::string_view noun);
// Keeps the first kMostRows rows and counts the others.
void CutRows(Table* table, size_t most = kMostRows);

void Say(Section* section, std::string id, std::string text,
         Paragraph::Tone tone = Paragraph::Tone::kPlain);

// Each adds its sections. ResourceExhausted: more than the bounds.
Status AddGlance(const ReportContext& story, Document* out);
Status AddJob(const ReportContext& story, Document* out);
Status AddSystem(const ReportContext& story, Document* out);
Status AddFramework(const ReportContext& story, Document* out);
Status AddRules(const ReportContext& story, Document* out);
Status AddStart(const ReportContext& story, Document* out);  // initialization, or the training loop
Status AddSteps(const ReportContext& story, Document* out);
Status AddGpus(const ReportContext& story, Document* out);
Status AddLoading(const ReportContext& story, Document* out);
Status AddBottlenecks(const ReportContext& story, Document* out);
Status AddTraining(const ReportContext& story, Document* out);
Status AddBoosting(const ReportContext& story, Document* out);
Status AddIssues(const ReportContext& story, Document* out);
Status AddActions(const ReportContext& story, Document* out);
Status AddAbout(const ReportContext& story, Document* out);

}  // namespace pitwall::history
