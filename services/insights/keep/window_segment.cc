#include "services/insights/keep/window_segment.h"

#include <algorithm>
#include <numeric>

#include "services/base/stable_hash.h"
#include "services/base/strings.h"
#include "services/codec/schema_binary.h"
#include "services/insights/keep/metric_pages.h"

namespace pitwall::insights {
namespace {

// "rows/3/1" -> 3, 1.
bool ParseKey(std::string_view key, std::string_view* what, size_t* origin, size_t* schema) {
  const std::vector<std::string_view> parts = Split(key, '/');
  *what = parts[0];
  if (parts.size() == 1) return true;
  if (parts.size() != 3) return false;
  const auto first = ParseInt(parts[1]);
  const auto second = ParseInt(parts[2]);
  if (!first || !second || *first < 0 || *second < 0) return false;
  *origin = static_cast<size_t>(*first);
  *schema = static_cast<size_t>(*second);
  return true;
}

// About what an origin takes with its names and sequences.
constexpr size_t kOriginBytes = 500;

}  // namespace

Status WindowSegment::Damaged(std::string_view what) const {
  return DataLoss(Cat(path_, ": ", what, "; the window from ", facts_.window_ns / kNanosPerSecond,
                      " s of its job cannot be read: restore the file, or delete the job"));
}

StatusOr<std::shared_ptr<const WindowSegment>> WindowSegment::Open(const std::string& path,
                                                                   const SegmentFacts* facts,
                                                                   const SharedBySegments& shared) {
  std::shared_ptr<WindowSegment> out(new WindowSegment());
  out->shared_ = shared;
  out->path_ = path;
  if (facts != nullptr) out->facts_ = *facts;
  auto reader = store::SegmentReader::Open(path);
  if (absl::IsNotFound(reader.status())) return out->Damaged("missing");
  if (absl::IsDataLoss(reader.status())) return out->Damaged(ToStd(reader.status().message()));
  RETURN_IF_ERROR(reader.status());
  out->reader_ = *std::move(reader);
  const bool other = facts != nullptr && out->reader_->footer_crc() != facts->footer_crc;
  if (other) return out->Damaged("another file than the catalogue names");
  RETURN_IF_ERROR(out->ReadHead());
  if (facts != nullptr) out->facts_ = *facts;
  out->facts_.footer_crc = out->reader_->footer_crc();
  return std::shared_ptr<const WindowSegment>(std::move(out));
}

Status WindowSegment::ReadHead() {
  const store::Table* head = nullptr;
  const store::Table* steps = nullptr;
  store::Page metrics;
  for (const store::Table& table : reader_->tables()) {
    std::string_view what;
    Place place{&table, 0, 0};
    if (!ParseKey(table.key, &what, &place.origin, &place.schema)) return Damaged("a key");
    if (what == "window") head = &table;
    if (what == "rows") rows_.push_back(place);
    if (what == "series") series_.push_back(place);
    if (what == "spread") spread_ = &table;
    if (what == "spans" || what == "span-rows" || what == "span-ends") spans_ = &table;
    if (what == "span-rows" || what == "span-ends") usual_lengths_ = true;
    if (what == "span-metrics") span_metrics_ = &table;
    if (what == "span-index") span_index_ = &table;
    if (what == "span-totals") span_totals_ = &table;
    if (what == "beats") beats_ = &table;
    if (what == "beat-runs") beat_runs_ = &table;
    if (what == kStepsTable) steps = &table;
    if (what == kMetricsTable) {
      if (table.groups.empty() || table.columns.size() != 2) return Damaged("its metrics");
      metrics = table.groups.back().pages[1];
    }
  }
  if (head == nullptr || head->groups.size() != 1 || head->columns.size() != 2)
    return Damaged("its description is missing");
  std::vector<std::string> texts;
  RETURN_IF_ERROR(reader_->ReadTexts(*head, 0, 1, &texts));
  if (texts.size() != 1) return Damaged("its description is malformed");
  BinaryReader in(texts[0]);
  facts_.Restore(in);
  facts_.metrics = metrics;
  if (steps != nullptr) RETURN_IF_ERROR(ReadSteps(*steps));
  for (size_t left = in.Count(6); left > 0 && in.ok(); --left) {
    Origin origin;
    origin.source = in.Str();
    origin.boot = in.Str();
    origin.node = in.Str();
    origin.rank = in.I64();
    origin.kind = static_cast<SourceKind>(in.U8());
    SequenceRanges ranges;
    ranges.Restore(in);
    if (ranges.size() > 0) seen_[{origin.source, origin.boot}] = std::move(ranges);
    origins_.push_back(std::make_shared<const Origin>(std::move(origin)));
  }
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) modes_.Of(in.Str());
  const size_t schemas = in.Count(3);
  for (size_t left = schemas; left > 0 && in.ok(); --left) schemas_.push_back(ReadSchema(in));
  RETURN_IF_ERROR(in.Finish(path_));
  bytes_ =
      reader_->memory_bytes() + origins_.size() * kOriginBytes + schemas * sizeof(SharedSchema);
  for (const auto* places : {&rows_, &series_}) {
    for (const Place& place : *places) {
      if (place.origin >= origins_.size() || place.schema >= schemas_.size())
        return Damaged("a table of an unknown origin or schema");
      if (places == &rows_ &&
          place.table->columns.size() != 4 + schemas_[place.schema]->series.size())
        return Damaged("a table that is not of its schema");
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadSteps(const store::Table& table) {
  if (table.groups.empty() || table.columns.size() != 2) return Damaged("its steps");
  std::vector<std::string> texts;
  RETURN_IF_ERROR(reader_->ReadTexts(table, table.groups.size() - 1, 1, &texts));
  BinaryReader in(texts[0]);
  facts_.steps.Restore(in);
  RETURN_IF_ERROR(in.Finish(path_));
  return facts_.steps.PlacePages(table) ? OkStatus() : Damaged("its steps");
}

SharedSchema WindowSegment::ReadSchema(BinaryReader& in) const {
  if (shared_.schemas == nullptr) return SharedSchema(codec::RestoreSchema(in));
  BinaryReader from_id = in;
  const uint64_t id = from_id.U64();
  SchemaPool::Saved saved;
  if (std::optional<SharedSchema> known = shared_.schemas->Find(facts_.job, id, &saved);
      known.has_value()) {
    BinaryReader same = in;
    if (Crc32c(same.Raw(saved.bytes)) == saved.crc && same.ok()) {
      in = same;
    } else {
      codec::SkipSchema(in);
    }
    return *std::move(known);
  }
  SharedSchema schema(codec::RestoreSchema(in));
  if (in.ok()) shared_.schemas->Add(facts_.job, schema);
  return schema;
}

StatusOr<const OriginPtr*> WindowSegment::OriginAt(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(origins_.size()))
    return Damaged("an unknown origin");
  return &origins_[static_cast<size_t>(index)];
}

StatusOr<DecodedColumnPtr> WindowSegment::ReadColumn(const store::Table& table, size_t column,
                                                     bool keep) const {
  const SegmentCache::Key key = {facts_.generation,
                                 static_cast<uint32_t>(&table - reader_->tables().data()),
                                 static_cast<uint32_t>(column)};
  const bool cached = keep && shared_.cache != nullptr;
  if (cached) {
    if (DecodedColumnPtr found = shared_.cache->Find<DecodedColumn>(key); found != nullptr)
      return found;
  }
  const auto read = std::make_shared<DecodedColumn>();
  blocks::BlockDecoder decoder;
  for (size_t g = 0; g < table.groups.size(); ++g) {
    if (table.columns[column] == store::ColumnType::kInt) {
      RETURN_IF_ERROR(reader_->ReadInts(table, g, column, &read->ints));
    } else {
      RETURN_IF_ERROR(reader_->ReadValues(table, g, column, &decoder, &read->values));
    }
  }
  if (cached) shared_.cache->Put(key, read, read->bytes());
  return DecodedColumnPtr(read);
}

// Rows are in the order of time.
StatusOr<RowTable> WindowSegment::ReadTable(const Place& place,
                                            const std::vector<uint32_t>& columns,
                                            const TimeRange& range, bool keep) const {
  RowTable out;
  out.origin = origins_[place.origin];
  out.schema = schemas_[place.schema];
  out.columns = columns;
  size_t column = 0, from = 0, to = 0, rows = 0;
  const auto part = [&](const auto& all, auto* some) -> Status {
    if (all.size() != rows) return Damaged("columns of different lengths");
    some->assign(all.begin() + static_cast<ptrdiff_t>(from),
                 all.begin() + static_cast<ptrdiff_t>(to));
    return OkStatus();
  };
  for (auto* ints : {&out.times, &out.sequences, &out.steps, &out.modes}) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(*place.table, column++, keep));
    const std::vector<int64_t>& all = read->ints;
    if (ints == &out.times) {
      const auto at = [&](int64_t time_ns) {
        return static_cast<size_t>(std::lower_bound(all.begin(), all.end(), time_ns) - all.begin());
      };
      rows = all.size();
      from = at(range.from_ns);
      to = std::max(from, at(range.to_ns));
    }
    RETURN_IF_ERROR(part(all, ints));
  }
  out.values.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(*place.table, 4 + columns[i], keep));
    RETURN_IF_ERROR(part(read->values, &out.values[i]));
  }
  RETURN_IF_ERROR(CheckModes(out.modes));
  return out;
}

StatusOr<RowTable> WindowSegment::ReadWhole(size_t table) const {
  std::vector<uint32_t> columns(schemas_[rows_[table].schema]->series.size());
  std::iota(columns.begin(), columns.end(), 0);
  return ReadTable(rows_[table], columns, kAllTimes, false);
}

std::vector<WindowSegment::RowsTable> WindowSegment::RowsTables() const {
  std::vector<RowsTable> out;
  for (const Place& place : rows_) {
    RowsTable table = {origins_[place.origin], schemas_[place.schema], INT64_MAX, INT64_MIN};
    for (const store::RowGroup& group : place.table->groups) {
      table.first_ns = std::min(table.first_ns, group.first_ns);
      table.last_ns = std::max(table.last_ns, group.last_ns);
    }
    out.push_back(std::move(table));
  }
  return out;
}

Status WindowSegment::ForEachWanted(
    SeriesSet* set, const TimeRange& range,
    const std::function<Status(size_t place, const std::vector<uint32_t>& columns)>& take) const {
  for (const Place& place : rows_) {
    const auto overlaps = [&](const store::RowGroup& group) {
      return group.first_ns < range.to_ns && group.last_ns >= range.from_ns;
    };
    const auto& groups = place.table->groups;
    if (std::none_of(groups.begin(), groups.end(), overlaps)) continue;
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(*schemas_[place.schema]));
    if (wanted->columns.empty()) continue;
    RETURN_IF_ERROR(take(static_cast<size_t>(&place - rows_.data()), wanted->columns));
  }
  return OkStatus();
}

Status WindowSegment::ReadRows(SeriesSet* set, const TimeRange& range, std::vector<RowTable>* out,
                               bool keep) const {
  return ForEachWanted(
      set, range, [&](size_t place, const std::vector<uint32_t>& columns) -> Status {
        ASSIGN_OR_RETURN(RowTable table, ReadTable(rows_[place], columns, range, keep));
        out->push_back(std::move(table));
        return OkStatus();
      });
}

Status WindowSegment::ReadViews(SeriesSet* set, const TimeRange& range,
                                std::vector<RowView>* out) const {
  return ForEachWanted(
      set, range, [&](size_t number, const std::vector<uint32_t>& columns) -> Status {
        const Place& place = rows_[number];
        RowView view(origins_[place.origin], schemas_[place.schema]);
        view.table = number;
        view.columns = columns;
        view.owners.reserve(3 + columns.size());
        ASSIGN_OR_RETURN(const DecodedColumnPtr times, ReadColumn(*place.table, 0, true));
        const auto at = [&](int64_t time_ns) {
          return static_cast<size_t>(
              std::lower_bound(times->ints.begin(), times->ints.end(), time_ns) -
              times->ints.begin());
        };
        view.first_row = at(range.from_ns);
        const size_t count = std::max(view.first_row, at(range.to_ns)) - view.first_row;
        view.times = std::span(times->ints).subspan(view.first_row, count);
        view.owners.push_back(times);
        for (auto [column, ints] : {std::pair(2, &view.steps), std::pair(3, &view.modes)}) {
          ASSIGN_OR_RETURN(const DecodedColumnPtr read,
                           ReadColumn(*place.table, static_cast<size_t>(column), true));
          if (read->ints.size() != times->ints.size())
            return Damaged("columns of different lengths");
          *ints = std::span(read->ints).subspan(view.first_row, count);
          view.owners.push_back(read);
        }
        RETURN_IF_ERROR(CheckModes(view.modes));
        view.values.reserve(columns.size());
        for (const uint32_t column : columns) {
          ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(*place.table, 4 + column, true));
          if (read->values.size() != times->ints.size())
            return Damaged("columns of different lengths");
          view.values.push_back(std::span(read->values).subspan(view.first_row, count));
          view.owners.push_back(read);
        }
        out->push_back(std::move(view));
        return OkStatus();
      });
}

Status WindowSegment::AddSequences(RowView* view) const {
  ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(*rows_[view->table].table, 1, true));
  if (read->ints.size() < view->first_row + view->times.size())
    return Damaged("columns of different lengths");
  view->sequences = std::span(read->ints).subspan(view->first_row, view->times.size());
  view->owners.push_back(read);
  return OkStatus();
}

Status WindowSegment::CheckModes(std::span<const int64_t> modes) const {
  for (const int64_t mode : modes) {
    if (mode < 0 || mode >= static_cast<int64_t>(modes_.all().size()))
      return Damaged("an unknown mode");
  }
  return OkStatus();
}

Status WindowSegment::ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const {
  for (const Place& place : series_) {
    const Schema& schema = *schemas_[place.schema];
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(schema));
    if (wanted->columns.empty()) continue;
    for (size_t g = 0; g < place.table->groups.size(); ++g) {
      std::vector<int64_t> columns, first, last, steps;
      RETURN_IF_ERROR(reader_->ReadInts(*place.table, g, 2, &columns));
      // Most groups have no series that is asked for.
      std::vector<std::pair<size_t, uint32_t>> hits;
      for (size_t row = 0; row < columns.size(); ++row) {
        const auto at = std::lower_bound(wanted->columns.begin(), wanted->columns.end(),
                                         static_cast<uint32_t>(columns[row]));
        if (at == wanted->columns.end() || *at != columns[row]) continue;
        hits.emplace_back(row, wanted->series[static_cast<size_t>(at - wanted->columns.begin())]);
      }
      if (hits.empty()) continue;
      std::vector<std::string> blobs;
      RETURN_IF_ERROR(reader_->ReadInts(*place.table, g, 0, &first));
      RETURN_IF_ERROR(reader_->ReadInts(*place.table, g, 1, &last));
      RETURN_IF_ERROR(reader_->ReadInts(*place.table, g, 3, &steps));
      RETURN_IF_ERROR(reader_->ReadTexts(*place.table, g, 4, &blobs));
      for (const auto& [row, series] : hits) {
        StoredSeries s{series, first[row], last[row], steps[row] != 0, {}};
        BinaryReader in(blobs[row]);
        if (facts_.metrics.bytes == 0) s.rows[1] = RestoreRows(in);
        if (!facts_.has_rows) s.rows[0] = RestoreRows(in);
        RETURN_IF_ERROR(in.Finish(path_));
        out->push_back(std::move(s));
      }
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadBeats(std::vector<Beat>* out) const {
  if (beats_ == nullptr) return OkStatus();
  for (size_t g = 0; g < beats_->groups.size(); ++g) {
    std::array<std::vector<int64_t>, 5> ints;
    for (size_t c = 0; c < ints.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*beats_, g, c, &ints[c]));
    for (size_t row = 0; row < ints[0].size(); ++row) {
      ASSIGN_OR_RETURN(const OriginPtr* origin, OriginAt(ints[1][row]));
      out->push_back({*origin, ints[0][row], ints[2][row], ints[3][row], ints[4][row] != 0});
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadBeatRuns(std::vector<BeatRun>* out) const {
  if (beat_runs_ == nullptr) {  // of a segment that was written before there were any
    std::vector<Beat> beats;
    RETURN_IF_ERROR(ReadBeats(&beats));
    for (BeatRun& run : RunsOf(beats)) out->push_back(std::move(run));
    return OkStatus();
  }
  for (size_t g = 0; g < beat_runs_->groups.size(); ++g) {
    std::array<std::vector<int64_t>, 6> ints;
    for (size_t c = 0; c < ints.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*beat_runs_, g, c, &ints[c]));
    for (size_t row = 0; row < ints[0].size(); ++row) {
      ASSIGN_OR_RETURN(const OriginPtr* origin, OriginAt(ints[1][row]));
      out->push_back(
          {ints[0][row], {*origin, ints[2][row], ints[3][row], ints[4][row], ints[5][row] != 0}});
    }
  }
  return OkStatus();
}

StatusOr<Spreads> WindowSegment::ReadSpreads() const {
  Spreads out;
  if (spread_ == nullptr) return out;
  for (size_t g = 0; g < spread_->groups.size(); ++g) {
    std::array<std::vector<std::string>, 3> texts;
    for (size_t c = 0; c < texts.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadTexts(*spread_, g, 1 + c, &texts[c]));
    for (size_t row = 0; row < texts[0].size(); ++row) {
      Spread spread;
      BinaryReader in(texts[2][row]);
      spread.sketch.Restore(in);
      spread.sum = in.Double();
      RETURN_IF_ERROR(in.Finish(path_));
      out[{texts[0][row], texts[1][row]}] = std::move(spread);
    }
  }
  return out;
}

}  // namespace pitwall::insights
