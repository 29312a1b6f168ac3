#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "services/history/api/answers.h"
#include "services/history/api/chart_columns.h"
#include "services/history/api/json_fields.h"
#include "services/history/views/period_comparison.h"
#include "services/history/views/resource_table.h"
#include "services/history/views/steps/buckets.h"
#include "services/history/views/steps/heat_map.h"
#include "services/history/views/tensor_table.h"

namespace pitwall::history {
namespace {

constexpr size_t kMaxSamples = 1'000'000;
constexpr size_t kMaxChartSeries = 1000;
// Maximum number of cells in a heat map, for example 2,048 rows by 2,000 columns.
constexpr size_t kMaxCells = 4'096'000;

std::string_view KindName(SeriesKind kind) {
  return kind == SeriesKind::kCounter ? "counter" : "gauge";
}

int64_t ReadWidth(Parameters* in) { return in->Int("width", 800, 3, kMaxWidth); }

}  // namespace

Answer AnswerSeries(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  SeriesQuery query;
  query.job = job->id;
  query.selectors = in.Selectors();
  query.range = in.Range({});
  query.limits.series = 2'000'000;  // the response contains only one page of these series
  const PageRequest page = ReadPage(&in, 1000, 20'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const std::vector<SeriesInfo> series, call.history().Series(query));
  const Page rows = page.Of(series.size());
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("series", rows.Of(series), out, [&](const SeriesInfo& info) {
      LabelsField("labels", info.labels, out);
      TextField("kind", KindName(info.kind), out);
      NsField("first_ns", info.first_ns, out);
      NsField("last_ns", info.last_ns, out);
      BoolField("has_steps", info.has_steps, out);
    });
    NextField(rows, out);
    CountField("total", series.size(), out);
  });
}

Answer AnswerSamples(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  SampleQuery query;
  query.job = job->id;
  query.selectors = in.Selectors();
  query.range = in.Range({});
  query.mode = in.Text("mode");
  query.limits.rows = kMaxSamples;
  const bool steps = in.Has("from_step") || in.Has("to_step");
  if (steps) in.Steps(&query.from_step, &query.to_step);
  if (steps && query.mode.empty())
    in.Fail(InvalidArgument(
        "mode: missing; steps belong to a mode, so specify one (for example, mode=train)"));
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, call.history().Samples(query));
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("series", columns, out, [&](const SampleColumn& column) {
      LabelsField("labels", column.labels, out);
      TextField("kind", KindName(column.kind), out);
      ArrayField("times_ns", column.times, out,
                 [&](const int64_t time_ns) { WriteNs(time_ns, out); });
      NumbersField("values", column.values, out);
      if (column.steps.empty()) return NullField("steps", out);
      ArrayField("steps", column.steps, out, [&](int64_t step) { WriteIndex(step, out); });
    });
  });
}

Answer AnswerChart(const ApiCall& call) {
  static constexpr std::array<std::string_view, 2> kAxes = {"time", "step"};
  static constexpr std::array<std::string_view, 2> kFormats = {"json", "binary"};
  Parameters& in = call.parameters;
  ChartQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.selectors = in.Selectors();
  query.range = in.Range(WholeOf(*query.job));
  query.width = static_cast<size_t>(ReadWidth(&in));
  query.by_step = in.Choice("axis", kAxes) == 1;
  query.mode = in.Text("mode");
  in.Steps(&query.from_step, &query.to_step);
  query.limits.series = kMaxChartSeries;
  const bool binary = in.Choice("format", kFormats) == 1;
  if (!query.by_step && (in.Has("mode") || in.Has("from_step") || in.Has("to_step")))
    in.Fail(InvalidArgument("axis: must be step if mode, from_step, or to_step is set (got time)"));
  if (query.mode.empty()) query.mode = "train";
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const Chart chart, MakeChart(call.history(), query));
  if (!binary) return http::HttpResponse::Json(ChartJson(chart, query.width));
  http::HttpResponse response;
  response.content_type = kColumnsContentType;
  response.body = ChartBinary(chart, query.width);
  return response;
}

Answer AnswerHeatMap(const ApiCall& call) {
  static constexpr std::array<std::string_view, 4> kValues = {"mean", "min", "max", "last"};
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  BucketQuery query;
  query.series.job = job->id;
  query.series.selectors = in.Selectors();
  query.series.range = in.Range(WholeOf(*job));
  query.width = static_cast<size_t>(ReadWidth(&in));
  query.raw_from_ns = job->raw_from_ns;
  query.series.limits.series = kMaxCells / (query.width + 1);
  const size_t value = in.Choice("value", kValues);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const HeatMap map,
                   MakeHeatMap(call.history(), query, static_cast<HeatValue>(value)));
  return JsonAnswer(
      [&](JsonWriter* out) {
        NsField("from_ns", map.grid.range.from_ns, out);
        NsField("to_ns", map.grid.range.to_ns, out);
        NsField("bucket_ns", map.grid.bucket_ns, out);
        TextField("tier", TierName(map.grid.tier), out);
        TextField("value", kValues[value], out);
        CountField("columns", map.grid.buckets(), out);
        ObjectsField("rows", map.rows, out, [&](const HeatMapRow& row) {
          LabelsField("labels", row.labels, out);
          NumbersField("cells", row.cells, out);
        });
      },
      map.rows.size() * (300 + map.grid.buckets() * JsonWriter::kNumberBytes));
}

Answer AnswerResources(const ApiCall& call) {
  Parameters& in = call.parameters;
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  const TimeRange range = in.Range(WholeOf(*job));
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const std::vector<ResourceRow> rows,
                   MakeResourceTable(call.history(), *job, range, {}));
  return JsonAnswer([&](JsonWriter* out) {
    out->Key("nodes");
    out->BeginArray();
    for (auto row = rows.begin(); row != rows.end();) {
      const auto end = std::find_if(
          row, rows.end(), [&](const ResourceRow& other) { return other.node != row->node; });
      out->BeginObject();
      TextField("node", row->node, out);
      ObjectsField("metrics", std::span(row, end), out, [&](const ResourceRow& one) {
        TextField("resource", one.resource, out);
        TextField("metric", one.metric, out);
        TextField("unit", one.unit, out);
        TextField("basis", one.basis, out);
        CountField("count", one.count, out);
        NumberField("min", one.min, out);
        NumberField("max", one.max, out);
        NumberField("mean", one.mean, out);
        NumberField("p50", one.p50, out);
        NumberField("p90", one.p90, out);
        NumberField("p95", one.p95, out);
        NumberField("p99", one.p99, out);
      });
      out->EndObject();
      row = end;
    }
    out->EndArray();
  });
}

Answer AnswerTensors(const ApiCall& call) {
  Parameters& in = call.parameters;
  TensorQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.name = in.Text("name");
  query.collection = in.Text("collection");
  query.mode = in.Text("mode");
  query.ranks = in.Ints("rank", 0, INT32_MAX);
  query.to_step = in.Int("to_step", kMaxPosition, 0, kMaxStep);
  query.limits.series = 200'000;
  const PageRequest page = ReadPage(&in, 1000, 20'000);
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const std::vector<TensorRow> tensors, MakeTensorTable(call.history(), query));
  const Page rows = page.Of(tensors.size());
  return JsonAnswer([&](JsonWriter* out) {
    ObjectsField("tensors", rows.Of(tensors), out, [&](const TensorRow& row) {
      TextField("tensor", row.tensor, out);
      TextField("collection", row.collection, out);
      TextField("mode", row.mode, out);
      IndexField("rank", row.rank, out);
      IndexField("step", row.step, out);
      NsField("time_ns", row.time_ns, out);
      ObjectField("statistics", out, [&] {
        for (const auto& [name, value] : row.statistics) NumberField(name, value, out);
      });
    });
    NextField(rows, out);
  });
}

Answer AnswerDiffers(const ApiCall& call) {
  Parameters& in = call.parameters;
  DifferenceQuery query;
  ASSIGN_OR_RETURN(query.job, call.Job());
  query.range = in.Range({});
  query.suspects = in.Selectors();
  query.most = static_cast<size_t>(in.Int("limit", 20, 1, 1000));
  query.limits.series =
      200'000;  // 1,000 ranks have 78,000 series, but each series requires only a few numbers
  RETURN_IF_ERROR(in.status());
  ASSIGN_OR_RETURN(const Differences found, FindDifferences(call.history(), query));
  return JsonAnswer([&](JsonWriter* out) {
    NsField("from_ns", found.range.from_ns, out);
    NsField("to_ns", found.range.to_ns, out);
    NsField("before_from_ns", found.before_from_ns, out);
    TextField("tier", TierName(found.tier), out);
    CountField("compared", found.compared, out);
    ObjectsField("series", found.differences, out, [&](const Difference& one) {
      LabelsField("labels", one.labels, out);
      NumberField("effect", one.effect, out);
      NumberField("mean", one.mean, out);
      NumberField("before", one.before, out);
      NumberField("before_effect", one.before_effect, out);
      NumberField("peers", one.peers, out);
      NumberField("peers_effect", one.peers_effect, out);
      CountField("peer_count", one.peer_count, out);
    });
  });
}

}  // namespace pitwall::history
