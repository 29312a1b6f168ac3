// Report sections on step time: phases, operators, collectives, and data loading.
#include <cmath>
#include <map>

#include "services/base/text/strings.h"
#include "services/history/report/sections.h"
#include "services/history/report/text_form.h"
#include "services/history/views/steps/operator_ranking.h"
#include "services/history/views/steps/phase_times.h"
#include "services/history/views/steps/selectors.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

constexpr size_t kMaxOperators = 30;

StatusOr<OperatorRanking> Ranked(const ReportContext& context, Span::Kind kind, TimeRange range) {
  SpanQuery query;
  query.job = context.life.id;
  query.range = range;
  query.kinds = {kind};
  query.limits = kReportLimits;
  return RankOperators(context.history(), query, kMaxOperators);
}

Table OperatorTable(std::string id, std::string caption, const OperatorRanking& ranking) {
  Table table{std::move(id),
              std::move(caption),
              {{"name", "Name", Unit::kName},
               {"share", "Share", Unit::kRatio},
               {"total_seconds", "Total", Unit::kSeconds},
               {"count", "Count", Unit::kCount},
               {"min_seconds", "Min", Unit::kSeconds},
               {"mean_seconds", "Mean", Unit::kSeconds},
               {"max_seconds", "Max", Unit::kSeconds}},
              {},
              {},
              ranking.left_out};
  for (const OperatorShare& one : ranking.operators) {
    const OperatorTotal& total = one.total;
    const auto seconds = [](int64_t ns) { return static_cast<double>(ns) / 1e9; };
    table.rows.push_back({total.name, one.share, seconds(total.total_ns), CountCell(total.count),
                          seconds(total.min_ns),
                          total.count > 0
                              ? Cell(seconds(total.total_ns) / static_cast<double>(total.count))
                              : Cell(),
                          seconds(total.max_ns)});
  }
  return table;
}

void AddPhaseFindings(const PhaseTimes& phases, Section* section) {
  double other = 0, forward = 0, backward = 0;
  for (const PhaseTime& phase : phases.phases) {
    if (phase.phase == "forward") forward = phase.share;
    if (phase.phase == "backward") backward = phase.share;
    if (phase.phase != "forward" && phase.phase != "backward" && phase.phase != "optimizer")
      other += phase.share;
  }
  if (forward + backward > 0 && other > 0.25)
    AddText(section, "phases-other",
            Cat(Shown(Cell(other), Unit::kRatio),
                " of step time is spent outside forward, backward, and optimizer."),
            Paragraph::Tone::kNote);
  const double both = forward + backward;
  if (both > 0 && std::max(forward, backward) / both > 0.7)
    AddText(section, "phases-uneven",
            Cat("The ", forward > backward ? "forward" : "backward", " pass takes ",
                Shown(Cell(std::max(forward, backward) / both), Unit::kRatio),
                " of the time of both passes."),
            Paragraph::Tone::kNote);
}

Status AddPhases(const ReportContext& context, Section* section) {
  StepQuery query = context.Steps();
  // Each rank has about ten series for the phases and collectives of its steps.
  size_t ranks = 1;
  for (const StepRow& row : context.steps)
    ranks = std::max(ranks, static_cast<size_t>(row.rank) + 1);
  const size_t last = std::clamp<size_t>(kMaxStepRows / 10 / ranks, 1, 200);
  ASSIGN_OR_RETURN(const PhaseTimes phases, MakePhaseTimes(context.history(), query, last));
  if (phases.phases.empty()) return OkStatus();
  BarChart chart{
      "phase-shares",
      Cat("Share of time by phase over all ranks, last ", Counted(phases.steps, "training step"),
          " (", phases.from_step, " to ", phases.to_step - 1, ")"),
      Unit::kRatio,
      true,
      {}};
  Table table{"phase-times",
              Cat("Time by phase, last ", Counted(phases.steps, "training step")),
              {{"phase", "Phase", Unit::kName},
               {"share", "Share", Unit::kRatio},
               {"seconds", "Time over all ranks", Unit::kSeconds}},
              {},
              {},
              0};
  for (const PhaseTime& phase : phases.phases) {
    chart.bars.push_back({phase.phase, phase.share});
    table.rows.push_back({phase.phase, phase.share, phase.seconds});
  }
  section->blocks.push_back(std::move(chart));
  AddPhaseFindings(phases, section);
  CutRows(&table);
  section->blocks.push_back(std::move(table));
  return OkStatus();
}

Status AddCollectives(const ReportContext& context, Section* section) {
  SeriesQuery query = context.Query({SelectorOfMetric(kCollectiveTime)});
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns,
                   context.history().Rollups(query, kTiers.size() - 1));
  struct Sum {
    double seconds = 0, most = 0;
    uint64_t count = 0;
  };
  std::map<std::string, Sum> sums;
  for (const RollupColumn& column : columns) {
    const std::string names[] = {"rank", "node"};
    Sum& sum = sums[LabelText(column.labels.Drop(names))];
    for (const RollupRow& row : column.rows) {
      if (!std::isfinite(row.sum)) continue;
      sum.seconds += row.sum;
      sum.count += row.count;
      sum.most = std::max(sum.most, row.max);
    }
  }
  if (sums.empty()) return OkStatus();
  Table table{"collectives",
              "Time in collectives over all ranks (one value per step and rank)",
              {{"group", "Group", Unit::kName},
               {"total_seconds", "Total", Unit::kSeconds},
               {"count", "Values", Unit::kCount},
               {"mean_seconds", "Mean", Unit::kSeconds},
               {"max_seconds", "Max", Unit::kSeconds}},
              {},
              {},
              0};
  for (const auto& [name, sum] : sums) {
    if (sum.count == 0) continue;
    table.rows.push_back({name, sum.seconds, CountCell(sum.count),
                          sum.seconds / static_cast<double>(sum.count), sum.most});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& a, const Row& b) {
    return std::get<double>(a[1]) > std::get<double>(b[1]);
  });
  CutRows(&table);
  section->blocks.push_back(std::move(table));
  return OkStatus();
}

// Adds the newest value of each data loader setting.
Status AddLoaderFacts(const ReportContext& context, Section* section) {
  constexpr std::pair<std::string_view, std::string_view> kFacts[] = {
      {"train_loader_workers_configured", "Workers configured"},
      {"train_loader_workers", "Workers observed"},
      {"train_loader_prefetch_factor", "Prefetch factor"},
      {"train_loader_pin_memory", "Pinned memory"}};
  Facts facts{"loader-facts", "Data loader settings, minimum to maximum over all ranks", {}};
  double workers = NAN, pinned = NAN;
  for (const auto& [metric, title] : kFacts) {
    ASSIGN_OR_RETURN(const std::vector<QuantileRow> rows,
                     context.history().Quantiles(context.Query({SelectorOfMetric(metric)}), {}));
    double least = INFINITY, most = -INFINITY;
    for (const QuantileRow& row : rows) {
      least = std::min(least, row.min);
      most = std::max(most, row.max);
    }
    if (!(least <= most)) continue;
    if (metric == "train_loader_workers_configured") workers = least;
    if (metric == "train_loader_pin_memory") pinned = least;
    const std::string value =
        least == most ? FormatDouble(least) : Cat(FormatDouble(least), " to ", FormatDouble(most));
    facts.facts.push_back({std::string(metric), std::string(title), Unit::kText, value});
  }
  if (facts.facts.empty()) return OkStatus();
  section->blocks.push_back(std::move(facts));
  if (workers == 0)
    AddText(
        section, "loader-workers",
        "At least one rank loads its data in the training process itself. With worker processes "
        "(num_workers), training continues while data is loaded.",
        Paragraph::Tone::kNote);
  if (pinned == 0)
    AddText(section, "loader-pinned",
            "The data loader does not pin memory. pin_memory=True speeds up copies to a GPU.",
            Paragraph::Tone::kNote);
  return OkStatus();
}

}  // namespace

Status AddFramework(const ReportContext& context, Document* out) {
  Section section{"framework", "Framework metrics", false, {}};
  RETURN_IF_ERROR(AddPhases(context, &section));
  for (const auto& [kind, id, caption] :
       {std::tuple(Span::Kind::kPhase, "phases", "Phases of the whole job, over all ranks"),
        std::tuple(Span::Kind::kOperator, "operators",
                   "Operators with the longest total time in the whole job, over all ranks")}) {
    ASSIGN_OR_RETURN(const OperatorRanking ranking, Ranked(context, kind, context.whole()));
    if (!ranking.operators.empty()) section.blocks.push_back(OperatorTable(id, caption, ranking));
  }
  RETURN_IF_ERROR(AddCollectives(context, &section));
  if (section.blocks.empty())
    AddText(&section, "framework-none",
            "No phases, operators, or collectives were reported. Use the Python client in the "
            "training script: import pitwall.",
            Paragraph::Tone::kNote);
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddStart(const ReportContext& context, Document* out) {
  const auto part = [&](JobPart which) {
    return static_cast<double>(context.summary.parts_ns[static_cast<size_t>(which)]) / 1e9;
  };
  const double initialization = part(JobPart::kInitialization), loop = part(JobPart::kTrainingLoop);
  if (initialization <= 0 && loop <= 0) return OkStatus();
  const bool start = initialization > loop;
  Section section{
      "start", start ? "Analysis of initialization" : "Analysis of the training loop", false, {}};
  int64_t loop_begin = 0;
  for (const AttemptSummary& attempt : context.summary.attempts) {
    if (loop_begin == 0) loop_begin = attempt.loop_begin_ns;
  }
  TimeRange range = context.whole();
  if (start) {
    AddText(&section, "start-text",
            Cat("Initialization took ", Shown(Cell(initialization), Unit::kSeconds),
                ", longer than the training loop (", Shown(Cell(loop), Unit::kSeconds),
                "). Check what is loaded, downloaded, or compiled before the first step."),
            Paragraph::Tone::kNote);
    if (loop_begin != 0) range.to_ns = loop_begin;
  } else {
    AddText(&section, "start-text",
            Cat("The training loop took ", Shown(Cell(loop), Unit::kSeconds),
                " and initialization ", Shown(Cell(initialization), Unit::kSeconds), "."));
    if (loop_begin != 0) range.from_ns = loop_begin;
  }
  if (range.to_ns > range.from_ns) {
    ASSIGN_OR_RETURN(const OperatorRanking ranking, Ranked(context, Span::Kind::kPhase, range));
    if (!ranking.operators.empty())
      section.blocks.push_back(OperatorTable(
          "start-phases", start ? "Phases before the first step" : "Phases since the first step",
          ranking));
  }
  out->sections.push_back(std::move(section));
  return OkStatus();
}

Status AddLoading(const ReportContext& context, Document* out) {
  Section section{"loading", "Data loading", true, {}};
  RETURN_IF_ERROR(AddLoaderFacts(context, &section));
  Selector loader = WithLabel(SelectorOfMetric(kPhaseDuration), "phase", "dataloader");
  SeriesQuery query = context.Query({std::move(loader)});
  ASSIGN_OR_RETURN(const std::vector<RollupColumn> columns,
                   context.history().Rollups(query, kTiers.size() - 1));
  Table table{"loading-ranks",
              "Time per step in the phase dataloader by rank, longest mean first",
              {{"rank", "Rank", Unit::kName},
               {"node", "Node", Unit::kText},
               {"mean_seconds", "Mean", Unit::kSeconds},
               {"max_seconds", "Max", Unit::kSeconds},
               {"count", "Values", Unit::kCount}},
              {},
              {},
              0};
  for (const RollupColumn& column : columns) {
    double sum = 0, most = 0;
    uint64_t count = 0;
    for (const RollupRow& row : column.rows) {
      if (!std::isfinite(row.sum)) continue;
      sum += row.sum;
      most = std::max(most, row.max);
      count += row.count;
    }
    if (count == 0) continue;
    table.rows.push_back({std::string(column.labels.Get("rank")),
                          std::string(column.labels.Get("node")), sum / static_cast<double>(count),
                          most, CountCell(count)});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& a, const Row& b) {
    return std::get<double>(a[2]) > std::get<double>(b[2]);
  });
  CutRows(&table);
  if (!table.rows.empty()) section.blocks.push_back(std::move(table));
  if (!section.blocks.empty()) out->sections.push_back(std::move(section));
  return OkStatus();
}

}  // namespace pitwall::history
