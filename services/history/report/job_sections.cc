// Report sections on the job: description, time per job part, and node usage.
#include <algorithm>
#include <climits>
#include <map>
#include <set>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/model/issues/incident_roots.h"

namespace pitwall::history {
namespace {

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

int64_t PartOf(const JobSummary& summary, JobPart part) {
  return summary.parts_ns[static_cast<size_t>(part)];
}

// Returns the start of the training loop in the first attempt and its end in the last attempt.
std::pair<int64_t, int64_t> LoopOf(const JobSummary& summary) {
  std::pair<int64_t, int64_t> out;
  for (const AttemptSummary& attempt : summary.attempts) {
    if (attempt.loop_begin_ns == 0) continue;
    if (out.first == 0) out.first = attempt.loop_begin_ns;
    out.second = attempt.loop_end_ns;
  }
  return out;
}

std::string PlaceOf(const IssueEvent& event) {
  const std::string labels = LabelText(event.labels);
  return labels.empty() ? "" : Cat(" (", labels, ")");
}

Table AttemptTable(const ReportContext& context) {
  Table table{"attempts",
              "Attempts",
              {{"attempt", "Attempt", Unit::kCount},
               {"begin_ns", "Start", Unit::kTime},
               {"end_ns", "End", Unit::kTime},
               {"end", "Result", Unit::kText},
               {"initialization_seconds", "Initialization", Unit::kSeconds},
               {"loop_seconds", "Training loop", Unit::kSeconds},
               {"finalization_seconds", "Finalization", Unit::kSeconds},
               {"lost", "Lost ranks", Unit::kCount}},
              {},
              {},
              0};
  for (size_t i = 0; i < context.summary.attempts.size(); ++i) {
    const AttemptSummary& attempt = context.summary.attempts[i];
    const AttemptLife& life = context.life.attempts[i];
    const auto part = [&](JobPart which) {
      return Seconds(attempt.parts_ns[static_cast<size_t>(which)]);
    };
    table.rows.push_back({CountCell(attempt.attempt), TimeCell(attempt.begin_ns),
                          TimeCell(life.ended_ns == 0 ? 0 : attempt.end_ns), life.end_text,
                          part(JobPart::kInitialization), part(JobPart::kTrainingLoop),
                          part(JobPart::kFinalization), CountCell(life.lost.size())});
  }
  CutRows(&table);
  return table;
}

Table LostTable(const ReportContext& context) {
  Table table{"lost",
              "Ranks that exited without notice",
              {{"attempt", "Attempt", Unit::kCount},
               {"time_ns", "Time", Unit::kTime},
               {"rank", "Rank", Unit::kCount},
               {"node", "Node", Unit::kText},
               {"why", "Reason", Unit::kText}},
              {},
              {},
              0};
  for (const AttemptLife& attempt : context.life.attempts) {
    for (const auto& [time_ns, lost] : attempt.lost) {
      std::string why = lost.oom_killed ? "out of memory" : "";
      if (lost.signal.has_value()) CatTo(why, why.empty() ? "" : ", ", "signal ", *lost.signal);
      if (lost.exit_code.has_value())
        CatTo(why, why.empty() ? "" : ", ", "exit code ", *lost.exit_code);
      table.rows.push_back({CountCell(attempt.attempt), TimeCell(time_ns), IndexCell(lost.rank),
                            lost.node, why.empty() ? "unknown" : why});
    }
  }
  CutRows(&table);
  return table;
}

// Returns an assessment of a node in the style of SageMaker Debugger, based on its GPU and CPU
// usage percentiles.
std::pair<std::string, Paragraph::Tone> Judgement(const std::string& node,
                                                  const std::map<std::string, ResourceRow>& rows) {
  const auto gpu = rows.find("gpu"), cpu = rows.find("cpu");
  const auto shown = [](double ratio) { return Shown(Cell(ratio), Unit::kRatio); };
  if (gpu == rows.end()) {
    if (cpu == rows.end()) return {Cat("No CPU or GPU data from ", node, "."), {}};
    return {Cat("No GPU data from ", node, ". Its median CPU utilization is ",
                shown(cpu->second.p50), "."),
            Paragraph::Tone::kPlain};
  }
  const double gpu95 = gpu->second.p95, gpu50 = gpu->second.p50;
  const double cpu95 = cpu == rows.end() ? 0 : cpu->second.p95;
  if (gpu95 < 0.7 && cpu == rows.end())
    return {
        Cat("Node ", node, ": GPU utilization is below ", shown(gpu95), " for 95% of the time."),
        Paragraph::Tone::kNote};
  if (gpu95 < 0.7 && cpu95 < 0.7)
    return {
        Cat("Node ", node, " is underused: for 95% of the time, its GPUs are below ", shown(gpu95),
            " and its CPU is below ", shown(cpu95), ". A smaller node may suffice."),
        Paragraph::Tone::kNote};
  if (gpu95 < 0.7)
    return {Cat("Node ", node, ": GPU utilization is below ", shown(gpu95),
                " for 95% of the time, while CPU utilization reaches ", shown(cpu95),
                ". The CPU is likely the bottleneck."),
            Paragraph::Tone::kBad};
  if (gpu50 > 0.7)
    return {Cat("Node ", node, " is well used: median GPU utilization is ", shown(gpu50), "."),
            Paragraph::Tone::kGood};
  return {Cat("Node ", node, ": median GPU utilization is ", shown(gpu50),
              cpu == rows.end() ? "" : Cat(", median CPU utilization is ", shown(cpu->second.p50)),
              "."),
          Paragraph::Tone::kPlain};
}

Unit UnitOf(std::string_view unit) {
  return unit == "ratio" ? Unit::kRatio : unit == "bytes" ? Unit::kBytes : Unit::kByteRate;
}

}  // namespace

Status AddGlance(const ReportContext& context, Document* out) {
  Section section{"glance", "At a glance", false, {}};
  size_t open = 0;
  std::vector<Incident> incidents = IncidentsOf(context.issues);
  // The list starts with the worst incidents that were still open at the end, followed by the
  // newest of the others.
  const auto weight = [](const Incident& incident) {
    const IssueEvent& root = incident.issues[0].newest();
    const bool to_the_end = incident.open || root.end_reason == EndReason::kJobEnded;
    return to_the_end ? SeverityRank(incident.severity) : INT_MAX;
  };
  std::stable_sort(incidents.begin(), incidents.end(),
                   [&](const Incident& a, const Incident& b) { return weight(a) < weight(b); });
  std::vector<const Incident*> ended;
  for (const Incident& incident : incidents) {
    const IssueEvent& root = incident.issues[0].newest();
    if (!incident.open) {
      ended.push_back(&incident);
      continue;
    }
    if (++open > 3) continue;
    AddText(&section, Cat("open-", open),
            Cat(root.summary.empty() ? root.alert : root.summary, PlaceOf(root), ", since ",
                ShownUtc(root.started_at.ns()), ". ", root.suggestion),
            Paragraph::Tone::kBad);
  }
  if (open > 3)
    AddText(&section, "open-more", Cat("Open incidents not listed here: ", open - 3, "."));
  if (open == 0 && context.issues.empty())
    AddText(&section, "nothing", "No issues found.", Paragraph::Tone::kGood);
  if (open == 0 && !context.issues.empty())
    AddText(&section, "closed",
            Cat("No open issues. ", Counted(context.issues.size(), "issue"), " ended."),
            Paragraph::Tone::kGood);
  for (size_t i = 0; i < ended.size() && i < 3; ++i) {
    const IssueEvent& root = ended[i]->issues[0].newest();
    AddText(&section, Cat("ended-", i + 1),
            Cat("From ", ShownUtc(ended[i]->started_ns), " to ", ShownUtc(ended[i]->ended_ns), ": ",
                root.summary.empty() ? root.alert : root.summary, PlaceOf(root), "."),
            Paragraph::Tone::kNote);
  }
  std::set<int64_t> ranks;
  std::set<std::string_view> nodes;
  for (const auto& [id, source] : context.life.sources) {
    if (source.rank >= 0) ranks.insert(source.rank);
    if (!source.node.empty()) nodes.insert(source.node);
  }
  const auto loop = PartOf(context.summary, JobPart::kTrainingLoop);
  const int64_t length = context.summary.end_ns - context.summary.begin_ns;
  std::string state = context.life.ended_ns == 0 ? "running" : "ended";
  if (!context.life.end_text.empty()) CatTo(state, ", ", context.life.end_text);
  section.blocks.push_back(Facts{
      "key-facts",
      "Key facts",
      {{"state", "State", Unit::kText, state},
       {"duration_seconds", "Duration", Unit::kSeconds, Seconds(length)},
       {"training_share", "Training loop share", Unit::kRatio,
        length > 0 ? Cell(Seconds(loop) / Seconds(length)) : Cell()},
       {"nodes", "Nodes", Unit::kCount, CountCell(nodes.size())},
       {"ranks", "Ranks", Unit::kCount, CountCell(ranks.size())},
       {"attempts", "Attempts", Unit::kCount, CountCell(context.life.attempts.size())},
       {"open_issues", "Open issues", Unit::kCount,
        CountCell(static_cast<uint64_t>(std::count_if(context.issues.begin(), context.issues.end(),
                                                      [](const Issue& i) { return i.open(); })))},
       {"found_issues", "Issues found", Unit::kCount, CountCell(context.issues.size())},
       {"owner", "Owner", Unit::kText, context.life.owner}}});
  AddText(&section, "disclaimer",
          "Recommendations are informational. They are based on measured data and fixed criteria. "
          "Evaluate them with your knowledge of the job.");
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddJob(const ReportContext& context, Document* out) {
  const JobSummary& summary = context.summary;
  Section section{"job", "Training job summary", false, {}};
  const auto [loop_begin, loop_end] = LoopOf(summary);
  const int64_t length = summary.end_ns - summary.begin_ns;
  const auto part = [&](JobPart which) { return Seconds(PartOf(summary, which)); };
  const auto share = [&](JobPart which) {
    return length > 0 ? Cell(part(which) / Seconds(length)) : Cell();
  };
  const bool ended = context.life.ended_ns != 0;
  AddText(&section, "job-text",
          loop_begin == 0
              ? Cat("No training step ", ended ? "was recorded" : "has been recorded yet",
                    ". All time counts as initialization.")
              : Cat("The job started at ", ShownUtc(summary.begin_ns),
                    ended ? Cat(" and ended at ", ShownUtc(summary.end_ns)) : " and is running",
                    ". Its training loop began at ", ShownUtc(loop_begin), "."));
  section.blocks.push_back(Facts{
      "job-facts",
      "Job times",
      {{"start_ns", "Start", Unit::kTime, TimeCell(summary.begin_ns)},
       {"end_ns", "End", Unit::kTime, ended ? TimeCell(summary.end_ns) : Cell()},
       {"duration_seconds", "Job duration", Unit::kSeconds, Seconds(length)},
       {"loop_start_ns", "Training loop start", Unit::kTime, TimeCell(loop_begin)},
       {"loop_end_ns", "Training loop end", Unit::kTime, TimeCell(loop_end)},
       {"loop_seconds", "Training loop", Unit::kSeconds, part(JobPart::kTrainingLoop)},
       {"initialization_seconds", "Initialization", Unit::kSeconds, part(JobPart::kInitialization)},
       {"finalization_seconds", "Finalization", Unit::kSeconds, part(JobPart::kFinalization)},
       {"between_attempts_seconds", "Between attempts", Unit::kSeconds,
        part(JobPart::kBetweenAttempts)},
       {"initialization_share", "Initialization share", Unit::kRatio,
        share(JobPart::kInitialization)},
       {"loop_share", "Training loop share", Unit::kRatio, share(JobPart::kTrainingLoop)},
       {"finalization_share", "Finalization share", Unit::kRatio, share(JobPart::kFinalization)}}});
  if (length > 0) {
    BarChart chart{"job-parts", "Where the time went", Unit::kRatio, true, {}};
    constexpr std::string_view kNames[] = {"initialization", "training loop", "finalization",
                                           "between attempts"};
    for (size_t i = 0; i < summary.parts_ns.size(); ++i) {
      if (summary.parts_ns[i] > 0)
        chart.bars.push_back(
            {std::string(kNames[i]), Seconds(summary.parts_ns[i]) / Seconds(length)});
    }
    section.blocks.push_back(std::move(chart));
  }
  if (Table attempts = AttemptTable(context); !attempts.rows.empty())
    section.blocks.push_back(std::move(attempts));
  if (Table lost = LostTable(context); !lost.rows.empty())
    section.blocks.push_back(std::move(lost));
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddSystem(const ReportContext& context, Document* out) {
  Section section{"system", "System usage statistics", false, {}};
  if (context.resources.empty()) {
    AddText(&section, "system-none",
            "No system metrics were collected. "
            "Run the collector on the job's nodes: pitwall collector.",
            Paragraph::Tone::kNote);
    out->sections.push_back(std::move(section));
    return OkStatus();
  }
  std::map<std::string, std::map<std::string, ResourceRow>> nodes;
  for (const ResourceRow& row : context.resources) nodes[row.node][row.resource] = row;
  size_t listed = 0;
  for (const auto& [node, rows] : nodes) {
    if (++listed > 16) break;
    auto [text, tone] = Judgement(node, rows);
    AddText(&section, Cat("node-", listed), std::move(text), tone);
  }
  if (nodes.size() > 16)
    AddText(&section, "nodes-more",
            Cat("The table lists ", Counted(nodes.size() - 16, "more node"), "."));
  Table table{"resources",
              "Resource usage by node over the whole job",
              {{"node", "Node", Unit::kText},
               {"resource", "Resource", Unit::kWord},
               {"unit", "Unit", Unit::kWord},
               {"max", "Max", Unit::kNumber},
               {"p99", "p99", Unit::kNumber},
               {"p95", "p95", Unit::kNumber},
               {"p90", "p90", Unit::kNumber},
               {"p50", "p50", Unit::kNumber},
               {"min", "Min", Unit::kNumber},
               {"count", "Values", Unit::kCount},
               {"basis", "Basis", Unit::kText}},
              {},
              {},
              0};
  for (const ResourceRow& row : context.resources) {
    table.rows.push_back({row.node, row.resource, row.unit, row.max, row.p99, row.p95, row.p90,
                          row.p50, row.min, CountCell(row.count), row.basis});
    table.row_units.push_back(UnitOf(row.unit));
  }
  CutRows(&table, 4 * kMaxRows);
  section.blocks.push_back(std::move(table));
  out->sections.push_back(std::move(section));
  return OkStatus();
}

}  // namespace pitwall::history
