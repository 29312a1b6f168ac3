#include <algorithm>
#include <array>
#include <utility>

#include "services/base/text/strings.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"
#include "services/history/views/steps/heat_map.h"
#include "services/history/views/steps/operator_ranking.h"
#include "services/history/views/steps/phase_times.h"
#include "services/history/views/steps/step_table.h"
#include "services/history/views/steps/what_if.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"step", "phase", "operator"};

constexpr std::array<std::string_view, 2> kBases = {"duration", "own"};

std::vector<Span::Kind> ReadKinds(Parameters* in) {
  std::vector<Span::Kind> out;
  for (const std::string_view text : in->Texts("kind")) {
    const auto at = std::find(kKinds.begin(), kKinds.end(), text);
    if (at == kKinds.end()) {
      in->Fail(InvalidArgument(
          Cat("kind: must be step, phase, or operator (got ", Quote(text.substr(0, 80)), ")")));
      return {};
    }
    out.push_back(static_cast<Span::Kind>(at - kKinds.begin()));
  }
  return out;
}

std::string_view NameOf(Span::Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string ReadMode(const Parameters& in) {
  return in.Has("mode") ? std::string(in.Text("mode")) : "train";
}

// Reads the parameters that both routes of spans have.
StatusOr<SpanQuery> ReadSpanQuery(const ApiCall& call) {
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  SpanQuery query;
  query.job = job->id;
  query.range = call.parameters.Range({});
  query.ranks = call.parameters.Ints("rank", 0, INT32_MAX);
  query.kinds = ReadKinds(&call.parameters);
  return query;
}

}  // namespace

Answer AnswerStepHeatMap(const ApiCall& call) {
  Parameters& in = call.parameters;
  StepQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.mode = ReadMode(in);
  in.Steps(&query.from_step, &query.to_step);
  query.range = in.Range({});
  const int64_t width = in.Int("width", 800, 3, kMaxWidth);
  const bool want_own = in.Choice("basis", kBases) == 1;
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const StepHeatMap map,
                   MakeStepHeatMap(call.history(), query, static_cast<size_t>(width), want_own));
  return JsonAnswer(
      [&](JsonWriter* out) {
        TextField("mode", query.mode, out);
        TextField("basis", kBases[map.own_time ? 1 : 0], out);
        IndexField("from_step", map.from_step, out);
        IndexField("to_step", map.to_step, out);
        IndexField("bucket_steps", map.bucket_steps, out);
        CountField("columns", map.medians.size(), out);
        NumbersField("medians_seconds", map.medians, out);
        ObjectsField("rows", map.rows, out, [&](const StepHeatMapRow& row) {
          IndexField("rank", row.rank, out);
          TextField("node", row.node, out);
          NumbersField("cells", row.cells, out);
        });
      },
      (1 + map.rows.size()) * (100 + map.medians.size() * JsonWriter::kNumberBytes));
}

Answer AnswerSpans(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(SpanQuery query, ReadSpanQuery(call));
  query.name = in.Text("name");
  query.mode = in.Text("mode");
  if (in.Has("from_step") || in.Has("to_step")) in.Steps(&query.from_step, &query.to_step);
  const PageRequest page = ReadPage(&in, 10'000, 200'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const SpanPage found, call.history().SpansPage(query, page.begin, page.limit));
  return JsonAnswer([&](JsonWriter* out) {
    const std::vector<SpanRow>& spans = found.rows;
    ObjectField("spans", out, [&] {
      ArrayField("source", spans, out, [&](const SpanRow& row) { out->String(row.source); });
      ArrayField("node", spans, out, [&](const SpanRow& row) { out->String(row.node); });
      ArrayField("rank", spans, out, [&](const SpanRow& row) { WriteIndex(row.rank, out); });
      ArrayField("kind", spans, out,
                 [&](const SpanRow& row) { out->String(NameOf(row.span.kind)); });
      ArrayField("name", spans, out, [&](const SpanRow& row) { out->String(row.span.name); });
      ArrayField("start_ns", spans, out,
                 [&](const SpanRow& row) { WriteNs(row.span.start.ns(), out); });
      ArrayField("end_ns", spans, out,
                 [&](const SpanRow& row) { WriteNs(row.span.end.ns(), out); });
      ArrayField("step", spans, out, [&](const SpanRow& row) { WriteIndex(row.span.step, out); });
      ArrayField("mode", spans, out, [&](const SpanRow& row) { out->String(row.span.mode); });
    });
    NextField(page.Of(found.total), out);
  });
}

Answer AnswerSteps(const ApiCall& call) {
  Parameters& in = call.parameters;
  StepQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.mode = ReadMode(in);
  query.range = in.Range({});
  in.Steps(&query.from_step, &query.to_step);
  query.ranks = in.Ints("rank", 0, INT32_MAX);
  const PageRequest page = ReadPage(&in, 10'000, 200'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const StepTable table, MakeStepTable(call.history(), query));
  const Page rows = page.Of(table.rows.size());
  return JsonAnswer([&](JsonWriter* out) {
    TextField("mode", query.mode, out);
    TextsField("phases", table.phases, out);
    ObjectsField("rows", rows.Of(table.rows), out, [&](const StepRow& row) {
      IndexField("rank", row.rank, out);
      IndexField("step", row.step, out);
      NsField("start_ns", row.start_ns, out);
      NsField("end_ns", row.end_ns, out);
      NumberField("duration_seconds", row.duration, out);
      NumbersField("phases", row.phases, out);
      NumberField("wait_seconds", row.wait, out);
    });
    NextField(rows, out);
  });
}

Answer AnswerPhases(const ApiCall& call) {
  Parameters& in = call.parameters;
  StepQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.mode = ReadMode(in);
  query.to_step = in.Int("to_step", kMaxPosition, 0, kMaxStep);
  const int64_t last = in.Int("last", 30, 1, 100'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const PhaseTimes times,
                   MakePhaseTimes(call.history(), query, static_cast<size_t>(last)));
  return JsonAnswer([&](JsonWriter* out) {
    TextField("mode", query.mode, out);
    IndexField("from_step", times.from_step, out);
    IndexField("to_step", times.to_step, out);
    CountField("steps", times.steps, out);
    NumberField("total_seconds", times.total, out);
    ObjectsField("phases", times.phases, out, [&](const PhaseTime& phase) {
      TextField("phase", phase.phase, out);
      NumberField("seconds", phase.seconds, out);
      NumberField("share", phase.share, out);
    });
    ObjectsField("ranks", times.ranks, out, [&](const RankPhases& rank) {
      IndexField("rank", rank.rank, out);
      NumberField("total_seconds", rank.total, out);
      ObjectField("seconds", out, [&] {
        for (const auto& [phase, seconds] : rank.seconds) NumberField(phase, seconds, out);
      });
    });
  });
}

Answer AnswerOperators(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(SpanQuery query, ReadSpanQuery(call));
  if (query.kinds.empty()) query.kinds = {Span::Kind::kOperator};
  const int64_t limit = in.Int("limit", 100, 1, 10'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const OperatorRanking ranking,
                   RankOperators(call.history(), query, static_cast<size_t>(limit)));
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("operators", ranking.operators, out, [&](const OperatorShare& one) {
      TextField("kind", NameOf(one.total.kind), out);
      TextField("name", one.total.name, out);
      CountField("count", one.total.count, out);
      NsField("total_ns", one.total.total_ns, out);
      NsField("min_ns", one.total.min_ns, out);
      NsField("max_ns", one.total.max_ns, out);
      NumberField("share", one.share, out);
    });
    NsField("total_ns", ranking.total_ns, out);
    CountField("left_out", ranking.left_out, out);
  });
}

Answer AnswerWhatIf(const ApiCall& call) {
  Parameters& in = call.parameters;
  StepQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.mode = ReadMode(in);
  in.Steps(&query.from_step, &query.to_step);
  const int64_t rank = in.Int("rank", 0, 0, INT32_MAX);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const WhatIf what, MakeWhatIf(call.history(), query, rank));
  const double unknown = what.computable ? 0 : NormalNan();
  return JsonAnswer([&](JsonWriter* out) {
    BoolField("computable", what.computable, out);
    TextField("reason", what.reason, out);
    CountField("steps", what.steps, out);
    CountField("left_out", what.left_out, out);
    TextField("basis", what.own_time ? "own" : "duration", out);
    NumberField("step_seconds", what.with + unknown, out);
    NumberField("without_seconds", what.without + unknown, out);
    NumberField("saved_share", what.with > 0 ? 1 - what.without / what.with + unknown : unknown,
                out);
  });
}

}  // namespace pitwall::history
