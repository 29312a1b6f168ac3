#include <algorithm>
#include <map>
#include <numeric>

#include "services/base/strings.h"
#include "services/codec/schema_binary.h"
#include "services/insights/keep/node_means.h"
#include "services/insights/keep/window_writing.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

using store::ColumnRows;
using store::ColumnType;
using store::SegmentWriter;
using store::TableKind;

// Rows of a group of series: so much is unpacked to read the rollups of one.
constexpr size_t kSeriesOfGroup = 128;

std::string KeyOf(std::string_view what, size_t origin, size_t schema) {
  return Cat(what, "/", origin, "/", schema);
}

Status WriteRows(const RowTable& rows, SegmentHints* hints, WindowWriting* w) {
  std::vector<ColumnType> types(4, ColumnType::kInt);
  types.resize(4 + rows.values.size(), ColumnType::kValue);
  ASSIGN_OR_RETURN(const size_t table, w->out->AddTable(TableKind::kSamples,
                                                        KeyOf("rows", w->OriginOf(rows.origin),
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

// Rows of the table of series of one (origin, schema).
struct SeriesColumns {
  std::vector<int64_t> first, last, column, steps;
  std::vector<std::string> rollups;
};

Status WriteSeries(const WindowRows& window, bool fine, WindowWriting* w) {
  SeriesSet set({}, SIZE_MAX);
  const std::vector<RowView> tables(window.tables.begin(), window.tables.end());
  SeriesMerger merger(tables, &set);
  RETURN_IF_ERROR(merger.Prepare());
  std::vector<SeriesColumns> columns(tables.size());
  std::vector<bool> written(set.all().size(), false);
  Spreads spreads;
  // A table at a time, so that values are read once; spreads add in the order of labels below.
  std::vector<std::pair<size_t, uint32_t>> home(set.all().size(), {SIZE_MAX, 0});
  for (size_t t = 0; t < tables.size(); ++t) {
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set.Of(*tables[t].schema));
    for (size_t i = 0; i < wanted->columns.size(); ++i) {
      if (home[wanted->series[i]].first == SIZE_MAX)
        home[wanted->series[i]] = {t, wanted->columns[i]};
    }
  }
  SeriesRows rows;
  for (const uint32_t series : set.InOrder()) {
    merger.Read(series, &rows);
    if (rows.times_ns.empty()) continue;
    SpreadOf(&spreads, set.all()[series].labels)->Add(rows, INT64_MIN, INT64_MAX);
    const TierRows tiers = RollUp(rows);
    BinaryWriter blob;
    SaveRows(tiers[1], blob);
    if (fine) SaveRows(tiers[0], blob);
    SeriesColumns& out = columns[home[series].first];
    out.first.push_back(rows.times_ns.front());
    out.last.push_back(rows.times_ns.back());
    out.column.push_back(home[series].second);
    out.steps.push_back(rows.has_steps ? 1 : 0);
    out.rollups.push_back(blob.Take());
  }
  for (size_t t = 0; t < tables.size(); ++t) {
    const SeriesColumns& c = columns[t];
    if (c.first.empty()) continue;
    using enum ColumnType;
    ASSIGN_OR_RETURN(const size_t table,
                     w->out->AddTable(TableKind::kRollup,
                                      KeyOf("series", w->OriginOf(tables[t].origin),
                                            w->SchemaOf(*tables[t].schema)),
                                      {kInt, kInt, kInt, kInt, kText}));
    RETURN_IF_ERROR(
        AddInGroups(w->out, table, c.first.size(), kSeriesOfGroup, [&](size_t from, size_t to) {
          return std::vector<ColumnRows>{Part(c.first, from, to), Part(c.last, from, to),
                                         Part(c.column, from, to), Part(c.steps, from, to),
                                         Part(c.rollups, from, to)};
        }));
  }
  if (spreads.empty()) return OkStatus();
  std::vector<int64_t> index;
  std::vector<std::string> nodes, metrics, blobs;
  for (const auto& [key, spread] : spreads) {
    BinaryWriter blob;
    spread.sketch.Save(blob);
    blob.Double(spread.sum);
    index.push_back(static_cast<int64_t>(index.size()));
    nodes.push_back(key.first);
    metrics.push_back(key.second);
    blobs.push_back(blob.Take());
  }
  using enum ColumnType;
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(TableKind::kRollup, "spread", {kInt, kText, kText, kText}));
  return AddInGroups(
      w->out, table, index.size(), store::kMaxGroupRows, [&](size_t from, size_t to) {
        return std::vector<ColumnRows>{Part(index, from, to), Part(nodes, from, to),
                                       Part(metrics, from, to), Part(blobs, from, to)};
      });
}

Status WriteBeats(const std::vector<Beat>& beats, WindowWriting* w) {
  if (beats.empty()) return OkStatus();
  std::vector<int64_t> promise, origin, sequence, idle, goodbye;
  for (const Beat& b : beats) {
    promise.push_back(b.promise_ns);
    origin.push_back(static_cast<int64_t>(w->OriginOf(b.origin)));
    sequence.push_back(b.sequence);
    idle.push_back(b.idle_ns);
    goodbye.push_back(b.goodbye ? 1 : 0);
  }
  using enum ColumnType;
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(TableKind::kEvents, "beats", {kInt, kInt, kInt, kInt, kInt}));
  RETURN_IF_ERROR(
      AddInGroups(w->out, table, promise.size(), store::kMaxGroupRows, [&](size_t from, size_t to) {
        return std::vector<ColumnRows>{Part(promise, from, to), Part(origin, from, to),
                                       Part(sequence, from, to), Part(idle, from, to),
                                       Part(goodbye, from, to)};
      }));
  std::vector<int64_t> first;
  for (auto* column : {&promise, &origin, &sequence, &idle, &goodbye}) column->clear();
  for (const BeatRun& run : RunsOf(beats)) {
    first.push_back(run.first_ns);
    origin.push_back(static_cast<int64_t>(w->OriginOf(run.last.origin)));
    promise.push_back(run.last.promise_ns);
    sequence.push_back(run.last.sequence);
    idle.push_back(run.last.idle_ns);
    goodbye.push_back(run.last.goodbye ? 1 : 0);
  }
  ASSIGN_OR_RETURN(const size_t runs, w->out->AddTable(TableKind::kEvents, "beat-runs",
                                                       {kInt, kInt, kInt, kInt, kInt, kInt}));
  return AddInGroups(w->out, runs, first.size(), store::kMaxGroupRows, [&](size_t from, size_t to) {
    return std::vector<ColumnRows>{Part(first, from, to),   Part(origin, from, to),
                                   Part(promise, from, to), Part(sequence, from, to),
                                   Part(idle, from, to),    Part(goodbye, from, to)};
  });
}

// The description comes last: by then all origins and schemas are known.
Status WriteHead(const WindowRows& window, const SegmentFacts& facts, WindowWriting* w) {
  for (const auto& [key, ranges] : window.seen) {
    if (w->origins.contains(key)) continue;
    w->OriginOf(std::make_shared<Origin>(Origin{key.first, key.second, "", -1, {}}));
  }
  BinaryWriter out;
  facts.Save(out);
  out.U64(w->origin_list.size());
  for (const OriginPtr& origin : w->origin_list) {
    out.Str(origin->source);
    out.Str(origin->boot);
    out.Str(origin->node);
    out.I64(origin->rank);
    out.U8(static_cast<uint8_t>(origin->kind));
    const auto seen = window.seen.find({origin->source, origin->boot});
    (seen == window.seen.end() ? SequenceRanges() : seen->second).Save(out);
  }
  out.U64(window.modes.all().size());
  for (const std::string& name : window.modes.all()) out.Str(name);
  out.U64(w->schema_list.size());
  for (const Schema* schema : w->schema_list) codec::SaveSchema(*schema, out);
  using enum ColumnType;
  ASSIGN_OR_RETURN(const size_t table,
                   w->out->AddTable(TableKind::kEvents, "window", {kInt, kText}));
  const std::vector<int64_t> times = {facts.window_ns};
  const std::vector<std::string> texts = {out.Take()};
  const std::vector<ColumnRows> columns = {Part(times, 0, 1), Part(texts, 0, 1)};
  return w->out->AddRows(table, columns, nullptr);
}

}  // namespace

namespace {
// What a segment has of raw samples. Those of older versions do not tell when they were dropped.
enum Rows : uint8_t { kWithoutRows = 0, kWithRows = 1, kRowsDroppedAt = 2 };
}  // namespace

void SegmentFacts::Save(BinaryWriter& out) const {
  out.Str(job);
  out.I64(window_ns);
  out.U64(generation);
  out.U64(bytes);
  out.U64(footer_crc);
  out.U64(samples);
  out.I64(least_start_ns);
  out.U8(has_rows ? kWithRows : dropped_ns == 0 ? kWithoutRows : kRowsDroppedAt);
  if (!has_rows && dropped_ns != 0) out.I64(dropped_ns);
}

void SegmentFacts::Restore(BinaryReader& in) {
  job = in.Str();
  window_ns = in.I64();
  generation = in.U64();
  bytes = in.U64();
  footer_crc = static_cast<uint32_t>(in.U64());
  samples = in.U64();
  least_start_ns = in.I64();
  const uint8_t rows = in.U8();
  if (rows > kRowsDroppedAt) in.Fail();
  has_rows = rows == kWithRows;
  dropped_ns = rows == kRowsDroppedAt ? in.I64() : 0;
}

Status WriteWindow(const std::string& path, const WindowRows& rows, SegmentHints* hints,
                   SegmentFacts* facts, const std::shared_ptr<files::DiskFaults>& faults) {
  ASSIGN_OR_RETURN(const auto writer, SegmentWriter::Create(path, faults));
  WindowWriting w{writer.get(), {}, {}, {}, {}};
  facts->samples = 0;
  facts->least_start_ns = INT64_MAX;
  for (const RowTable& table : rows.tables) {
    if (table.times.empty()) continue;
    for (const auto& column : table.values) {
      if (IsMade(*table.schema)) break;
      facts->samples += static_cast<uint64_t>(
          std::count_if(column.begin(), column.end(), [](double v) { return !IsMissing(v); }));
    }
    if (facts->has_rows) RETURN_IF_ERROR(WriteRows(table, hints, &w));
  }
  for (size_t i = 0; i < rows.spans.size(); ++i)
    facts->least_start_ns = std::min(facts->least_start_ns, rows.spans[i].start_ns);
  RETURN_IF_ERROR(WriteSeries(rows, !facts->has_rows, &w));
  RETURN_IF_ERROR(
      WriteSpans(rows.spans, facts->has_rows ? rows.tables : std::vector<RowTable>(), &w));
  RETURN_IF_ERROR(WriteBeats(rows.beats, &w));
  RETURN_IF_ERROR(WriteHead(rows, *facts, &w));
  ASSIGN_OR_RETURN(const store::SegmentFile file, writer->Finish());
  facts->bytes = file.bytes;
  facts->footer_crc = file.footer_crc;
  return OkStatus();
}

}  // namespace pitwall::insights
