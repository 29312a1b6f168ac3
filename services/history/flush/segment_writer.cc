#include "services/history/flush/segment_writer.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/schema_binary.h"
#include "services/history/flush/window_series.h"
#include "services/history/segments/segment_builder.h"
#include "services/history/segments/step_summaries.h"
#include "services/history/windows/node_means.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using store::ColumnRows;
using store::ColumnType;
using store::SegmentWriter;
using store::TableKind;

uint64_t SamplesOf(const RowTable& rows) {
  if (IsMade(*rows.schema)) return 0;
  uint64_t samples = 0;
  for (const auto& column : rows.values) {
    samples += static_cast<uint64_t>(
        std::count_if(column.begin(), column.end(), [](double v) { return !IsMissing(v); }));
  }
  return samples;
}

Status WriteRows(const RowTable& rows, SegmentHints* hints, SegmentBuilder* w) {
  std::vector<ColumnType> types(4, ColumnType::kInt);
  types.resize(4 + rows.values.size(), ColumnType::kValue);
  ASSIGN_OR_RETURN(const size_t table, w->out->AddTable(TableKind::kSamples,
                                                        Cat("rows/", w->OriginOf(rows.origin), "/",
                                                            w->SchemaOf(*rows.schema)),
                                                        std::move(types)));
  std::vector<blocks::FormHint>& hint = (*hints)[{rows.origin->source, rows.schema->id}];
  hint.resize(4 + rows.values.size());
  return AddInGroups(
      w->out, table, rows.times.size(), store::kMaxGroupRows,
      [&](size_t from, size_t to) {
        std::vector<ColumnRows> columns = {Part(rows.times, from, to),
                                           Part(rows.sequences, from, to),
                                           Part(rows.steps, from, to), Part(rows.modes, from, to)};
        for (const auto& values : rows.values) columns.emplace_back(Part(values, from, to));
        return columns;
      },
      hint.data());
}

Status WriteHeartbeats(const std::vector<Heartbeat>& beats, SegmentBuilder* w) {
  if (beats.empty()) return OkStatus();
  std::array<std::vector<int64_t>, 5> columns;
  const auto add = [&](const Heartbeat& beat) {
    const auto origin = static_cast<int64_t>(w->OriginOf(beat.origin));
    const int64_t row[] = {beat.promise_ns, origin, beat.sequence, beat.idle_ns, beat.goodbye};
    for (size_t i = 0; i < columns.size(); ++i) columns[i].push_back(row[i]);
  };
  for (auto& column : columns) column.reserve(beats.size());
  for (const Heartbeat& beat : beats) add(beat);
  RETURN_IF_ERROR(AddIntTable(w->out, TableKind::kEvents, "beats", columns));
  std::vector<int64_t> first;
  for (auto& column : columns) column.clear();
  for (const HeartbeatRun& run : RunsOf(beats)) {
    first.push_back(run.first_ns);
    add(run.last);
  }
  const auto& [promise, origin, sequence, idle, goodbye] = columns;
  const std::vector<int64_t> runs[] = {first, origin, promise, sequence, idle, goodbye};
  return AddIntTable(w->out, TableKind::kEvents, "beat-runs", runs);
}

// Approximate size of a schema page. Large pages compress better because labels repeat across
// schemas, but a page is always read as a whole.
constexpr size_t kSchemaPageBytes = size_t{1} << 20;

// Location of a schema in the segment, as stored in the description.
struct SavedSchema {
  SchemaPool::Saved saved;
  size_t page = 0;
};

StatusOr<std::vector<SavedSchema>> WriteSchemas(const SegmentMeta& facts, SegmentBuilder* w) {
  ASSIGN_OR_RETURN(TextTable table,
                   TextTable::Of(w->out, TableKind::kEvents, kSchemasTable, facts.window_ns));
  std::string page;
  const auto flush = [&] { return table.Add(std::exchange(page, {})).status(); };
  std::vector<SavedSchema> out;
  size_t pages = 0;
  for (const Schema* schema : w->schema_list) {
    if (page.size() >= kSchemaPageBytes) {
      RETURN_IF_ERROR(flush());
      ++pages;
    }
    BinaryWriter bytes;
    codec::SaveSchema(*schema, bytes);
    out.push_back({{bytes.data().size(), Crc32c(bytes.data())}, pages});
    page += bytes.data();
  }
  if (!page.empty()) RETURN_IF_ERROR(flush());
  return out;
}

// Writes the description last, because all origins and schemas must be known.
Status WriteHead(const FlushInput& window, const SegmentMeta& facts, SegmentBuilder* w) {
  for (const auto& [key, ranges] : window.seen()) {
    if (w->origins.contains(key)) continue;
    w->OriginOf(std::make_shared<Origin>(Origin{key.first, key.second, "", -1, {}}));
  }
  ASSIGN_OR_RETURN(const std::vector<SavedSchema> schemas, WriteSchemas(facts, w));
  BinaryWriter out;
  facts.Save(out);
  out.U64(w->origin_list.size());
  for (const OriginPtr& origin : w->origin_list) {
    Put(*origin, &out);
    const auto seen = window.seen().find({origin->source, origin->boot});
    (seen == window.seen().end() ? SequenceRanges() : seen->second).Save(out);
  }
  out.U64(window.modes().all().size());
  for (const std::string& name : window.modes().all()) out.Str(name);
  out.U64(w->schema_list.size());
  for (size_t i = 0; i < schemas.size(); ++i) {
    out.U64(w->schema_list[i]->id);
    out.U64(schemas[i].saved.bytes);
    out.U64(schemas[i].saved.crc);
    out.U64(schemas[i].page);
  }
  ASSIGN_OR_RETURN(TextTable table,
                   TextTable::Of(w->out, TableKind::kEvents, "window", facts.window_ns));
  return table.Add(out.Take()).status();
}

}  // namespace

Status WriteWindow(const std::string& path, const FlushInput& window, SegmentHints* hints,
                   SegmentMeta* facts, const std::shared_ptr<files::DiskFaults>& faults) {
  ASSIGN_OR_RETURN(const auto writer, SegmentWriter::Create(path, faults));
  SegmentBuilder w{writer.get(), {}, {}, {}, {}};
  StepSummaries steps(&window.modes());
  facts->samples = 0;
  facts->least_start_ns = INT64_MAX;
  ASSIGN_OR_RETURN(const auto series,
                   WindowSeries::Of(window.tables(), !facts->has_rows, path, faults));
  const std::vector<OriginPtr> origins = window.spans().Origins();
  std::set<OriginKey> with_spans;
  for (const OriginPtr& origin : origins) with_spans.emplace(origin->source, origin->boot);
  std::vector<RowTimes> times;
  for (size_t t = 0; t < window.tables().size(); ++t) {
    ASSIGN_OR_RETURN(RowTable rows, window.Read(window.tables()[t]));
    facts->samples += SamplesOf(rows);
    if (facts->has_rows && !rows.times.empty()) {
      RETURN_IF_ERROR(WriteRows(rows, hints, &w));
      steps.Add(rows);
      const std::string_view metric = MetricOf(*window.tables()[t].schema);
      if (!metric.empty() && with_spans.contains({rows.origin->source, rows.origin->boot}))
        times.push_back({w.OriginOf(rows.origin), metric, rows.times});
    }
    RETURN_IF_ERROR(series->Add(t, std::move(rows)));
  }
  for (size_t i = 0; i < window.spans().size(); ++i)
    facts->least_start_ns = std::min(facts->least_start_ns, window.spans()[i].start_ns);
  RETURN_IF_ERROR(series->Write(window.tables(), TotalsOf(window.spans()), &w, facts));
  RETURN_IF_ERROR(WriteSpans(window.spans(), times, &w));
  RETURN_IF_ERROR(steps.Write(&w, facts));
  ASSIGN_OR_RETURN(const std::vector<Heartbeat> beats, window.ReadHeartbeats());
  RETURN_IF_ERROR(WriteHeartbeats(beats, &w));
  RETURN_IF_ERROR(WriteHead(window, *facts, &w));
  ASSIGN_OR_RETURN(const store::SegmentFile file, writer->Finish());
  facts->bytes = file.bytes;
  facts->footer_crc = file.footer_crc;
  return OkStatus();
}

}  // namespace pitwall::history
