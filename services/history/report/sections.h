// Report sections and their shared state. Private to this folder.
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

// Limits for a report.
inline constexpr size_t kMaxRows = 64;  // rows of a table, except for tables of rules
inline constexpr size_t kMaxRuleRows = 400;
inline constexpr size_t kMaxBoxes = 32;
inline constexpr size_t kMaxLines = 6;           // lines of a chart
inline constexpr size_t kMaxPoints = 400;        // points of a line
inline constexpr size_t kMaxIssues = 20;         // issues shown in full
inline constexpr size_t kMaxStepRows = 100'000;  // steps × ranks to read
inline constexpr size_t kMaxSteps = 2000;
inline constexpr ReadLimits kReportLimits = {.series = 20'000, .rows = 4'000'000};

// Data of the job, read once for all sections.
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
  std::vector<StepRow> steps;  // runs of the last steps, sorted by step and rank
  int64_t from_step = 0, to_step = 0;

  const History& history() const { return *request.history; }
  TimeRange whole() const { return {life.first_ns, std::max(life.first_ns, life.last_ns) + 1}; }
  SeriesQuery Query(std::vector<Selector> selectors) const {
    return {life.id, std::move(selectors), whole(), kReportLimits};
  }
  StepQuery Steps() const;
};

// Means of a series over intervals of equal length or, for a short job with few series, its raw
// samples.
struct Reading {
  Labels labels;
  std::vector<int64_t> times;
  std::vector<double> values;
};
struct Readings {
  std::string basis;  // "samples", "10s", "2m", or "30m"
  std::vector<Reading> series;
};
StatusOr<Readings> ReadMeans(const ReportContext& context, std::vector<Selector> selectors);

// Returns a name such as "node gpu 3" for the labels of a device.
std::string DeviceName(const Labels& labels);
// Returns the labels as `rank="5", node="a"`, without the metric and the alert.
std::string LabelText(const Labels& labels);
Box BoxOf(std::string name, std::vector<double> values);
// Returns "1 issue" or "2 issues".
std::string Counted(uint64_t count, std::string_view noun);
// Keeps the first `most` rows and counts the omitted ones.
void CutRows(Table* table, size_t most = kMaxRows);

void AddText(Section* section, std::string id, std::string text,
             Paragraph::Tone tone = Paragraph::Tone::kPlain);

// Each of the following functions adds its sections, and returns ResourceExhausted if the limits
// are exceeded.
Status AddGlance(const ReportContext& context, Document* out);
Status AddJob(const ReportContext& context, Document* out);
Status AddSystem(const ReportContext& context, Document* out);
Status AddFramework(const ReportContext& context, Document* out);
Status AddRules(const ReportContext& context, Document* out);
// Analyzes initialization if it took longer than the training loop. Otherwise, analyzes the loop.
Status AddStart(const ReportContext& context, Document* out);
Status AddSteps(const ReportContext& context, Document* out);
Status AddGpus(const ReportContext& context, Document* out);
Status AddLoading(const ReportContext& context, Document* out);
Status AddBottlenecks(const ReportContext& context, Document* out);
Status AddTraining(const ReportContext& context, Document* out);
Status AddBoosting(const ReportContext& context, Document* out);
Status AddIssues(const ReportContext& context, Document* out);
Status AddActions(const ReportContext& context, Document* out);
Status AddAbout(const ReportContext& context, Document* out);

}  // namespace pitwall::history
