#include "services/history/report/report.h"

#include <cmath>
#include <set>
#include <utility>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

struct Part {
  std::string_view id, title;
  Status (*add)(const ReportContext& context, Document* out);
};
constexpr Part kParts[] = {
    {"glance", "At a glance", AddGlance},
    {"job", "Training job summary", AddJob},
    {"system", "System usage statistics", AddSystem},
    {"framework", "Framework metrics", AddFramework},
    {"rules", "Rules summary", AddRules},
    {"start", "Analysis of the job's start", AddStart},
    {"steps", "Step durations", AddSteps},
    {"gpus", "GPUs", AddGpus},
    {"loading", "Data loading", AddLoading},
    {"bottlenecks", "CPU and I/O bottlenecks", AddBottlenecks},
    {"training", "Training", AddTraining},
    {"boosting", "Boosted trees", AddBoosting},
    {"issues", "Incidents and issues", AddIssues},
    {"actions", "Actions and captures", AddActions},
    {"about", "About this report", AddAbout},
};

// Reads the last steps, backward from the end, up to the limits.
Status ReadSteps(ReportContext* context) {
  std::set<int64_t> ranks;
  for (const auto& [id, source] : context->life.sources) {
    if (source.rank >= 0) ranks.insert(source.rank);
  }
  const size_t count =
      std::clamp<size_t>(kMaxStepRows / std::max<size_t>(ranks.size(), 1), 1, kMaxSteps);
  StepQuery query = context->Steps();
  ASSIGN_OR_RETURN(const StepRange last, FindLastSteps(context->history(), query, count));
  if (last.from_step == last.to_step) return OkStatus();
  query.range = last.range;
  query.from_step = context->from_step = last.from_step;
  query.to_step = context->to_step = last.to_step;
  ASSIGN_OR_RETURN(context->steps, ReadStepDurations(context->history(), query));
  return OkStatus();
}

}  // namespace

StepQuery ReportContext::Steps() const {
  StepQuery query;
  query.job = request.job;
  query.range = whole();
  query.limits = kReportLimits;
  return query;
}

void AddText(Section* section, std::string id, std::string text, Paragraph::Tone tone) {
  section->blocks.push_back(Paragraph{std::move(id), std::move(text), tone});
}

std::string Counted(uint64_t count, std::string_view noun) {
  return Cat(count, " ", noun, count == 1 ? "" : "s");
}

void CutRows(Table* table, size_t most) {
  if (table->rows.size() <= most) return;
  table->left_out += table->rows.size() - most;
  table->rows.resize(most);
}

std::string DeviceName(const Labels& labels) {
  std::string out(labels.Get("node"));
  for (const char* name : {"hw_id", "gpu"}) {
    if (!labels.Has(name)) continue;
    CatTo(out, out.empty() ? "" : " ", "gpu ", labels.Get(name));
    break;
  }
  return out.empty() ? labels.DropName().ToString() : out;
}

std::string LabelText(const Labels& labels) {
  std::string out;
  for (const Label& label : labels) {
    if (label.name == kMetricName || label.name == "alertname" || label.name == "severity")
      continue;
    CatTo(out, out.empty() ? "" : ", ", label.name, "=", label.value);
  }
  return out;
}

Box BoxOf(std::string name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) { return QuantileOf(values, q); };
  return {std::move(name), values.front(), at(0.05), at(0.25),
          at(0.5),         at(0.75),       at(0.95), values.back()};
}

StatusOr<Readings> ReadMeans(const ReportContext& context, std::vector<Selector> selectors) {
  constexpr int64_t kShortNs = 900 * kNanosPerSecond;
  constexpr double kMaxRead = 1e6;  // maximum number of rows over all tables
  Readings out;
  SeriesQuery query = context.Query(std::move(selectors));
  ASSIGN_OR_RETURN(const std::vector<SeriesInfo> infos, context.history().Series(query));
  if (infos.empty()) return out;
  const auto length = static_cast<double>(context.whole().to_ns - context.whole().from_ns);
  const auto series = static_cast<double>(infos.size());
  const auto keep = [](Reading* reading, int64_t time_ns, double value) {
    if (!std::isfinite(value)) return;
    reading->times.push_back(time_ns);
    reading->values.push_back(value);
  };
  // The estimate assumes two samples per second, which is typical.
  if (length <= kShortNs && series * length / 5e8 <= kMaxRead) {
    SampleQuery samples;
    static_cast<SeriesQuery&>(samples) = query;
    ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, context.history().Samples(samples));
    out.basis = "samples";
    for (const SampleColumn& column : columns) {
      Reading reading{column.labels, {}, {}};
      for (size_t i = 0; i < column.values.size(); ++i)
        keep(&reading, column.times[i], column.values[i]);
      if (!reading.values.empty()) out.series.push_back(std::move(reading));
    }
    return out;
  }
  size_t tier = 0;
  while (tier + 1 < kTiers.size() && series * length / static_cast<double>(kTiers[tier]) > kMaxRead)
    ++tier;
  constexpr std::string_view kNames[] = {"means over 10 s", "means over 2 min",
                                         "means over 30 min"};
  out.basis = kNames[tier];
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns, context.history().Rollups(query, tier));
  for (const RollupColumn& column : columns) {
    Reading reading{column.labels, {}, {}};
    for (const RollupRow& row : column.rows) keep(&reading, row.start_ns, row.sum / row.count);
    if (!reading.values.empty()) out.series.push_back(std::move(reading));
  }
  return out;
}

StatusOr<Document> MakeReport(const ReportRequest& request) {
  const History& history = *request.history;
  const JobOverview& life = *request.job;
  ReportContext context{request, life, Summarize(life), {}, {}, {}, {}, {}, {}, {}, {}};
  ASSIGN_OR_RETURN(context.events, history.Events(life.id));
  ASSIGN_OR_RETURN(context.actions, history.Actions(life.id));
  ASSIGN_OR_RETURN(context.captures, history.Captures(life.id));
  ASSIGN_OR_RETURN(context.notifications, history.Notifications(life.id));
  context.issues = IssuesOf(context.events);
  context.states = RuleStatesOf(life, context.events);
  std::vector<std::string> faults;
  StatusOr<std::vector<ResourceRow>> resources =
      MakeResourceTable(history, life, context.whole(), kReportLimits);
  if (resources.ok()) {
    context.resources = *std::move(resources);
  } else if (!absl::IsResourceExhausted(resources.status())) {
    return resources.status();
  } else {
    faults.push_back(Cat("System usage: ", ToStd(resources.status().message())));
  }
  const Status steps = ReadSteps(&context);
  if (!steps.ok() && !absl::IsResourceExhausted(steps)) return steps;
  if (!steps.ok()) faults.push_back(Cat("Steps: ", ToStd(steps.message())));

  Document out;
  out.job = life.id;
  out.name = life.name;
  out.state = life.ended_ns == 0 ? "running" : "ended";
  out.from_ns = context.summary.begin_ns;
  out.as_of_ns = context.summary.end_ns;
  out.version = request.version;
  out.link = request.link;
  for (const Part& part : kParts) {
    const size_t before = out.sections.size();
    const Status added = part.add(context, &out);
    if (added.ok()) continue;
    if (!absl::IsResourceExhausted(added)) return added;
    out.sections.resize(before);
    Section section{std::string(part.id), std::string(part.title), false, {}};
    AddText(&section, Cat(part.id, "-left-out"), Cat("Omitted: ", ToStd(added.message())),
            Paragraph::Tone::kNote);
    out.sections.push_back(std::move(section));
  }
  for (size_t i = 0; i < faults.size(); ++i)
    AddText(&out.sections.back(), Cat("fault-", i), Cat("Omitted. ", faults[i]),
            Paragraph::Tone::kNote);
  return out;
}

}  // namespace pitwall::history
