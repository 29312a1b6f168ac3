// Report sections on rules: states, criteria, incidents, issues with evidence, and actions.
#include <cmath>
#include <map>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/history/views/chart.h"
#include "services/history/views/steps/selectors.h"

namespace pitwall::history {
namespace {

std::string ShownParameters(const std::vector<std::pair<std::string, double>>& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters)
    CatTo(out, out.empty() ? "" : ", ", name, "=", FormatDouble(value));
  return out;
}

// Returns the parameters that applied to the newest issue or, if there is no issue, the job's
// parameters.
std::string ParametersOf(const IssueEvent* issue, const RuleDefinition* rule) {
  if (issue != nullptr) return ShownParameters(issue->parameters);
  std::string out;
  if (rule == nullptr) return out;
  for (const RuleParameter& one : rule->parameters)
    CatTo(out, out.empty() ? "" : ", ", one.name, "=", one.now.empty() ? one.value : one.now);
  return out;
}

const RuleDefinition* Find(const ReportContext& context, std::string_view rule) {
  const auto at = context.request.rules.find(rule);
  return at == context.request.rules.end() ? nullptr : &at->second;
}

// Counts the samples of each metric that a rule needs, across the whole job. NaN values are
// ignored.
StatusOr<std::map<std::string, uint64_t>> CountSamples(const ReportContext& context) {
  std::map<std::string, uint64_t> out;
  for (const RuleState& state : context.states) {
    const RuleDefinition* rule = Find(context, state.rule);
    if (rule == nullptr) continue;
    for (const std::string& metric : rule->needs) out[metric] = 0;
  }
  if (out.empty()) return out;
  std::vector<Selector> selectors;
  for (const auto& [metric, count] : out) selectors.push_back(SelectorOfMetric(metric));
  ASSIGN_OR_RETURN(const std::vector<QuantileRow> rows,
                   context.history().Quantiles(context.Query(std::move(selectors)), {}));
  for (const QuantileRow& row : rows) out[row.metric] += row.count;
  return out;
}

Cell DataPoints(const std::map<std::string, uint64_t>& counts, const RuleDefinition* rule) {
  if (rule == nullptr || rule->needs.empty()) return {};
  uint64_t sum = 0;
  for (const std::string& metric : rule->needs) sum += counts.at(metric);
  return CountCell(sum);
}

// Returns true if the evidence is a metric name instead of an expression.
bool IsMetric(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
  });
}

// Returns a chart that shows the values in the issue's events and the underlying stored series.
StatusOr<LineChart> EvidenceChart(const ReportContext& context, const Issue& issue,
                                  std::string id) {
  const IssueEvent& newest = issue.newest();
  const int64_t begin = newest.active_since.ns();
  const int64_t end = issue.open() ? std::max(newest.last_seen_at.ns(), context.life.last_ns)
                                   : newest.ended_at.ns();
  LineChart chart{std::move(id), "", Unit::kTime, Unit::kNumber, {}, issue.threshold(), {}};
  chart.stretches = {{"pending", begin, newest.started_at.ns()},
                     {"firing", newest.started_at.ns(), end}};
  const int64_t margin = std::max<int64_t>((end - begin) / 4, 30 * kNanosPerSecond);
  const Evidence* stored = nullptr;
  for (const Evidence& one : issue.evidence()) {
    if (IsMetric(one.name) && std::isfinite(one.value)) stored = &one;
  }
  if (stored != nullptr) {
    Selector selector = SelectorOfMetric(stored->name);
    for (const Label& label : stored->labels) {
      if (label.name != kMetricName) selector = WithLabel(selector, label.name, label.value);
    }
    ChartQuery query;
    query.job = context.request.job;
    query.selectors = {std::move(selector)};
    query.range = {std::max(context.life.first_ns, begin - margin),
                   std::min(context.whole().to_ns, end + margin)};
    query.width = kMaxPoints;
    query.limits = kReportLimits;
    if (query.range.from_ns < query.range.to_ns) {
      ASSIGN_OR_RETURN(const Chart made, MakeChart(context.history(), query));
      for (const ChartColumn& column : made.columns) {
        if (chart.lines.size() == kMaxLines) break;
        Line line{column.labels.ToString(), {}, {}};
        for (const ChartRow& row : column.rows) {
          line.x.push_back(row.at);
          line.y.push_back(row.last);
        }
        chart.lines.push_back(std::move(line));
      }
    }
  }
  const bool have_series = !chart.lines.empty();
  Line values{"value of the rule in its events", {}, {}, true};
  for (const IssueEventPtr& event : issue.events) {
    if (!values.x.empty() && event->time.ns() <= values.x.back()) continue;
    values.x.push_back(event->time.ns());
    values.y.push_back(event->value);
  }
  chart.lines.push_back(std::move(values));
  chart.caption = have_series ? Cat("Evidence: ", stored->name, " (pending and firing are shaded)")
                              : "Evidence: values of the rule (pending and firing are shaded)";
  return chart;
}

Status AddIssue(const ReportContext& context, const Issue& issue, size_t number, Document* out) {
  const IssueEvent& newest = issue.newest();
  const std::string id = Cat("issue-", number);
  Section section{id,
                  Cat(newest.severity.empty() ? "" : Cat(newest.severity, ": "),
                      newest.summary.empty() ? newest.alert : newest.summary),
                  true,
                  {}};
  if (!newest.suggestion.empty())
    AddText(&section, Cat(id, "-todo"), Cat("What to do: ", newest.suggestion),
            Paragraph::Tone::kNote);
  if (!newest.description.empty()) AddText(&section, Cat(id, "-what"), newest.description);
  const auto number_or_none = [](const std::optional<double>& value) {
    return value.has_value() ? Cell(*value) : Cell();
  };
  section.blocks.push_back(Facts{
      Cat(id, "-facts"),
      "Issue",
      {{"rule", "Rule", Unit::kName, newest.rule},
       {"issue", "Issue", Unit::kName, issue.id},
       {"place", "Where", Unit::kText, LabelText(newest.labels)},
       {"state", "State", Unit::kText,
        issue.open() ? std::string("open") : Cat("ended, ", EndReasonName(newest.end_reason))},
       {"active_since_ns", "Pending since", Unit::kTime, TimeCell(newest.active_since.ns())},
       {"started_ns", "Firing since", Unit::kTime, TimeCell(newest.started_at.ns())},
       {"ended_ns", "Ended", Unit::kTime, TimeCell(newest.ended_at.ns())},
       {"value", "Value", Unit::kNumber, newest.value},
       {"threshold", "Threshold", Unit::kNumber, number_or_none(issue.threshold())},
       {"parameters", "Parameters", Unit::kText, ShownParameters(newest.parameters)},
       {"step", "Step", Unit::kStep, IndexCell(newest.step)},
       {"attempt", "Attempt", Unit::kCount, CountCell(newest.attempt)},
       {"incident", "Incident", Unit::kName, newest.incident},
       {"root_cause", "Root cause", Unit::kName, newest.root_cause}}});
  ASSIGN_OR_RETURN(LineChart chart, EvidenceChart(context, issue, Cat(id, "-chart")));
  section.blocks.push_back(std::move(chart));
  if (!issue.evidence().empty()) {
    Table table{Cat(id, "-evidence"),
                "Evidence",
                {{"name", "Expression", Unit::kName},
                 {"labels", "Labels", Unit::kText},
                 {"value", "Value", Unit::kNumber}},
                {},
                {},
                0};
    for (const Evidence& one : issue.evidence())
      table.rows.push_back({one.name, LabelText(one.labels), one.value});
    CutRows(&table, 16);
    section.blocks.push_back(std::move(table));
  }
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Section IncidentSection(const ReportContext& context) {
  Section section{"issues", "Incidents and issues", false, {}};
  const std::vector<Incident> incidents = IncidentsOf(context.issues);
  if (incidents.empty()) {
    AddText(&section, "issues-none", "No issues found.", Paragraph::Tone::kGood);
    return section;
  }
  Table table{"incidents",
              "Incidents and their likely causes, newest first",
              {{"root", "Likely cause", Unit::kText},
               {"rule", "Rule", Unit::kName},
               {"severity", "Severity", Unit::kText},
               {"state", "State", Unit::kText},
               {"started_ns", "Since", Unit::kTime},
               {"ended_ns", "Ended", Unit::kTime},
               {"issues", "Issues", Unit::kCount}},
              {},
              {},
              0};
  for (const Incident& incident : incidents) {
    const IssueEvent& root = incident.issues[0].newest();
    table.rows.push_back({root.summary.empty() ? root.alert : root.summary, root.rule,
                          incident.severity, std::string(incident.open ? "open" : "ended"),
                          TimeCell(incident.started_ns), TimeCell(incident.ended_ns),
                          CountCell(incident.issues.size())});
  }
  CutRows(&table);
  section.blocks.push_back(std::move(table));
  return section;
}

}  // namespace

Status AddRules(const ReportContext& context, Document* out) {
  Section section{"rules", "Rules summary", false, {}};
  ASSIGN_OR_RETURN(const auto counts, CountSamples(context));
  std::vector<RuleState> states = context.states;
  std::stable_sort(states.begin(), states.end(),
                   [](const RuleState& a, const RuleState& b) { return a.found > b.found; });
  Table found{"rules-found",
              "Rules that found issues, most frequent first",
              {{"rule", "Rule", Unit::kName},
               {"description", "Description", Unit::kText},
               {"recommendation", "Recommendation", Unit::kText},
               {"found", "Triggered", Unit::kCount},
               {"open", "Open", Unit::kCount},
               {"datapoints", "Datapoints", Unit::kCount},
               {"parameters", "Parameters", Unit::kText}},
              {},
              {},
              0};
  Table others{"rules-others",
               "Other rules",
               {{"rule", "Rule", Unit::kName},
                {"status", "Status", Unit::kText},
                {"reason", "Reason", Unit::kText},
                {"datapoints", "Datapoints", Unit::kCount},
                {"parameters", "Parameters", Unit::kText}},
               {},
               {},
               0};
  for (const RuleState& state : states) {
    const RuleDefinition* rule = Find(context, state.rule);
    const IssueEvent* newest = nullptr;
    for (const Issue& issue : context.issues) {
      if (newest == nullptr && issue.newest().rule == state.rule) newest = &issue.newest();
    }
    const Cell points = DataPoints(counts, rule);
    if (newest == nullptr) {
      others.rows.push_back({state.rule, std::string(RuleStatusName(state.verdict.status)),
                             state.verdict.reason, points, ParametersOf(nullptr, rule)});
      continue;
    }
    const bool described = !newest->description.empty() || rule == nullptr;
    found.rows.push_back({state.rule, described ? newest->description : rule->description,
                          newest->suggestion, CountCell(state.found), CountCell(state.open), points,
                          ParametersOf(newest, rule)});
  }
  if (states.empty()) {
    AddText(&section, "rules-none", "No rule has reported a status for this job.",
            Paragraph::Tone::kNote);
  } else if (found.rows.empty()) {
    AddText(&section, "rules-text", "No rule found any issues.", Paragraph::Tone::kGood);
  } else {
    AddText(&section, "rules-text",
            Cat(states[0].rule, " fired most often (", Counted(states[0].found, "issue"), ")."));
  }
  if (!found.rows.empty()) {
    CutRows(&found);
    section.blocks.push_back(std::move(found));
  }
  if (!others.rows.empty()) {
    CutRows(&others, kMaxRuleRows);
    section.blocks.push_back(std::move(others));
  }
  if (!counts.empty())
    AddText(
        &section, "rules-datapoints",
        "Datapoints are the samples of the metrics that a rule needs over the whole job, excluding "
        "NaN.");
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddIssues(const ReportContext& context, Document* out) {
  out->sections.push_back(IncidentSection(context));
  // Open issues come first. Open and ended issues are each sorted by start, newest first.
  std::vector<const Issue*> sorted;
  for (const Issue& issue : context.issues) sorted.push_back(&issue);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Issue* a, const Issue* b) { return a->open() && !b->open(); });
  for (size_t i = 0; i < sorted.size() && i < kMaxIssues; ++i)
    RETURN_IF_ERROR(AddIssue(context, *sorted[i], i + 1, out));
  if (sorted.size() <= kMaxIssues) return OkStatus();
  Section section{"issues-more", "More issues", true, {}};
  Table table{"issues-list",
              "Issues without details",
              {{"summary", "Issue", Unit::kText},
               {"rule", "Rule", Unit::kName},
               {"severity", "Severity", Unit::kText},
               {"started_ns", "Since", Unit::kTime},
               {"ended_ns", "Ended", Unit::kTime},
               {"value", "Value", Unit::kNumber}},
              {},
              {},
              0};
  for (size_t i = kMaxIssues; i < sorted.size(); ++i) {
    const IssueEvent& newest = sorted[i]->newest();
    table.rows.push_back({newest.summary.empty() ? newest.alert : newest.summary, newest.rule,
                          newest.severity, TimeCell(newest.started_at.ns()),
                          TimeCell(newest.ended_at.ns()), newest.value});
  }
  CutRows(&table, 3 * kMaxRows);
  section.blocks.push_back(std::move(table));
  out->sections.push_back(std::move(section));
  return OkStatus();
}

namespace {

// Adds notifications in sending order.
void AddNotifications(const ReportContext& context, Section* section) {
  if (context.notifications.empty()) {
    AddText(section, "notifications-none", "The history has no notifications for this job.");
    return;
  }
  std::map<std::string_view, const Issue*> issues;
  for (const Issue& issue : context.issues) issues[issue.id] = &issue;
  Table table{"notifications-list",
              "Notifications",
              {{"time_ns", "Time", Unit::kTime},
               {"receiver", "Receiver", Unit::kName},
               {"kind", "Kind", Unit::kText},
               {"what", "Event", Unit::kText},
               {"about", "Issue", Unit::kText},
               {"error", "Error", Unit::kText}},
              {},
              {},
              0};
  for (const NotificationRecord& record : context.notifications) {
    const auto first = record.issues.empty() ? issues.end() : issues.find(record.issues.front());
    std::string about = first == issues.end() ? "" : first->second->newest().alert;
    if (record.issues.size() > 1) CatTo(about, " and ", record.issues.size() - 1, " more");
    table.rows.push_back({TimeCell(record.time.ns()), record.receiver, record.kind, record.what,
                          std::move(about), record.error});
  }
  CutRows(&table, 3 * kMaxRows);
  section->blocks.push_back(std::move(table));
}

}  // namespace

Status AddActions(const ReportContext& context, Document* out) {
  Section section{"actions", "Actions and captures", false, {}};
  if (context.actions.empty()) {
    AddText(&section, "actions-none", "No actions were recorded.");
  } else {
    Table table{"action-list",
                "Actions in chronological order",
                {{"time_ns", "Time", Unit::kTime},
                 {"type", "Event", Unit::kText},
                 {"action", "Action", Unit::kText},
                 {"mode", "Mode", Unit::kText},
                 {"rule", "Rule", Unit::kName},
                 {"why", "Reason", Unit::kText},
                 {"effect", "Effect", Unit::kText}},
                {},
                {},
                0};
    for (const ActionEvent& action : context.actions) {
      const std::string_view type = ActionEventTypeName(action.type);
      table.rows.push_back(
          {TimeCell(action.time.ns()), std::string(type.substr(type.rfind('.') + 1)),
           std::string(ActionKindName(action.kind)), std::string(ActionModeName(action.mode)),
           action.rule, action.why,
           action.kind == ActionKind::kParameter ? ChangeText(action.parameter) : action.effect});
    }
    CutRows(&table, 3 * kMaxRows);
    section.blocks.push_back(std::move(table));
  }
  if (!context.captures.empty()) {
    Table table{"capture-list",
                "Captured stacks",
                {{"time_ns", "Time", Unit::kTime},
                 {"rank", "Rank", Unit::kCount},
                 {"node", "Node", Unit::kText},
                 {"state", "State", Unit::kText},
                 {"phase", "Phase", Unit::kName},
                 {"frame", "Innermost frame", Unit::kName},
                 {"principal", "Requested by", Unit::kText}},
                {},
                {},
                0};
    for (const RankCapture& capture : context.captures) {
      const auto& threads = capture.look.threads;
      const bool framed = !threads.empty() && !threads[0].frames.empty();
      table.rows.push_back({TimeCell(capture.time.ns()), IndexCell(capture.rank), capture.node,
                            std::string(CaptureStateName(capture.state)), capture.look.phase,
                            framed ? threads[0].frames[0] : std::string(), capture.principal});
    }
    CutRows(&table, 2 * kMaxRows);
    section.blocks.push_back(std::move(table));
  }
  AddNotifications(context, &section);
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddAbout(const ReportContext& context, Document* out) {
  Section section{"about", "About this report", false, {}};
  AddText(
      &section, "about-bounds",
      Cat("Step durations cover at most the last ", kMaxStepRows / 1000,
          ",000 values (steps × ranks). Tables and charts keep the most relevant rows and state "
          "how many were omitted. Quantiles of samples have an error of 0.0005 for ratios and "
          "of 1% for other values."));
  if (context.life.raw_from_ns != 0)
    AddText(&section, "about-raw",
            Cat("Raw samples before ", ShownUtc(context.life.raw_from_ns),
                " are no longer available. Means over 10 s are."),
            Paragraph::Tone::kNote);
  if (context.request.rules.empty())
    AddText(
        &section, "about-rules",
        "This server does not run rules. Descriptions and parameters are taken from the issues, "
        "and "
        "datapoints are unknown.",
        Paragraph::Tone::kNote);
  if (context.life.ended_ns == 0)
    AddText(&section, "about-running",
            "The job is still running. This report covers the data so far.",
            Paragraph::Tone::kNote);
  out->sections.push_back(std::move(section));
  return OkStatus();
}

}  // namespace pitwall::history
