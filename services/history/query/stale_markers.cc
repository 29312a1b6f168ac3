#include "services/history/query/stale_markers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/history/query/segment_streams.h"
#include "services/history/query/window_view.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

// Consecutive rows of one schema in a source's stream.
struct Run {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t schema = 0;
};

// State that determines where the selected series of a job end.
class Sources {
 public:
  // Source with selected series in any window or in memory.
  struct Source {
    std::map<uint32_t, std::vector<Run>> streams;
    std::set<uint64_t> schemas;  // schemas that contain selected series
    std::vector<HeartbeatRun> beats;
  };

  explicit Sources(SeriesSet* set) : set_(set) {}

  // Adds the unsealed rows of a window. Call this in window order, and for all heads before any
  // segment.
  Status TakeHead(const std::vector<MemTablePart>& parts) {
    absl::flat_hash_map<std::pair<const Origin*, uint32_t>, std::vector<const MemTablePart*>>
        streams;
    for (const MemTablePart& part : parts)
      streams[{part.tail.origin.get(), part.tail.schema->stream}].push_back(&part);
    for (const auto& entry : streams) {
      const std::vector<const MemTablePart*>& stream = entry.second;
      std::vector<RowsTable> tables;
      for (const MemTablePart* part : stream)
        tables.push_back({part->tail.origin, part->tail.schema, part->first_ns, part->last_ns});
      RETURN_IF_ERROR(TakeStream(tables, [&](size_t i) -> StatusOr<std::vector<int64_t>> {
        ASSIGN_OR_RETURN(RowTable rows, stream[i]->Rows());
        return std::move(rows.times);
      }));
    }
    return OkStatus();
  }
  Status TakeSegment(const HistoryStore& store, const SegmentMeta& facts) {
    ASSIGN_OR_RETURN(const SegmentStreamsPtr streams, StreamsOf(store, facts));
    size_t begin = 0;
    for (const size_t end : streams->ends) {
      const size_t from = std::exchange(begin, end);
      const auto stream = std::span(streams->tables).subspan(from, end - from);
      // A schema without selected series matters only if the source had selected series before.
      bool wanted = false;
      for (const RowsTable& table : stream) {
        ASSIGN_OR_RETURN(const WantedColumns* columns, set_->Of(*table.schema));
        wanted = wanted || !columns->columns.empty();
      }
      if (!wanted) {
        const Source* source = Find(stream[0].origin);
        if (source == nullptr || !source->streams.contains(stream[0].schema->stream)) continue;
      }
      RETURN_IF_ERROR(TakeStream(stream, [&](size_t i) -> StatusOr<std::vector<int64_t>> {
        ASSIGN_OR_RETURN(const auto segment, store.segments().Open(facts));
        ASSIGN_OR_RETURN(const DecodedColumnPtr times,
                         segment->rows().ReadRowTimes(streams->numbers[from + i]));
        return times->ints;
      }));
    }
    return OkStatus();
  }
  // Adds a run of heartbeats. Call this after all tables have been added.
  void TakeHeartbeats(const HeartbeatRun& run) {
    Source* const source = Find(run.last.origin);
    if (source != nullptr && !source->schemas.empty()) source->beats.push_back(run);
  }

  std::map<OriginKey, Source>& all() { return sources_; }
  const Schema& schema(uint64_t id) const { return *by_id_.at(id); }

 private:
  using Names = std::pair<std::string_view, std::string_view>;

  Source* Find(const OriginPtr& origin) {
    const auto at = by_names_.find(Names(origin->source, origin->boot));
    return at == by_names_.end() ? nullptr : at->second;
  }
  Source& Of(const OriginPtr& origin) {
    if (Source* const known = Find(origin); known != nullptr) return *known;
    const auto at = sources_.try_emplace({origin->source, origin->boot}).first;
    by_names_[Names(at->first.first, at->first.second)] = &at->second;
    return at->second;
  }
  // Adds all of a window's tables for one stream. `times` reads the times of a table.
  Status TakeStream(std::span<const RowsTable> tables,
                    const std::function<StatusOr<std::vector<int64_t>>(size_t)>& times) {
    Source& source = Of(tables[0].origin);
    std::vector<Run>& runs = source.streams[tables[0].schema->stream];
    for (size_t i = 0; i < tables.size(); ++i) {
      const RowsTable& table = tables[i];
      ASSIGN_OR_RETURN(const WantedColumns* wanted, set_->Of(*table.schema));
      by_id_.emplace(table.schema->id, table.schema);
      if (!wanted->columns.empty()) source.schemas.insert(table.schema->id);
      const auto overlaps = [&](const RowsTable& other) {
        return &other != &table && other.first_ns <= table.last_ns &&
               table.first_ns <= other.last_ns;
      };
      if (std::any_of(tables.begin(), tables.end(), overlaps)) {
        ASSIGN_OR_RETURN(const std::vector<int64_t> read, times(i));
        for (const int64_t time : read) runs.push_back({time, time, table.schema->id});
      } else {
        runs.push_back({table.first_ns, table.last_ns, table.schema->id});
      }
    }
    return OkStatus();
  }

  SeriesSet* const set_;
  std::map<OriginKey, Source> sources_;
  absl::flat_hash_map<Names, Source*> by_names_;
  std::map<uint64_t, SharedSchema> by_id_;
};

// Inserts a marker unless the previous sample is already a marker.
void Insert(int64_t time_ns, SampleColumn* column) {
  const auto at = std::lower_bound(column->times.begin(), column->times.end(), time_ns);
  const auto i = at - column->times.begin();
  if (i == 0 || (at != column->times.end() && *at == time_ns)) return;
  if (IsStale(column->values[static_cast<size_t>(i) - 1])) return;
  column->times.insert(at, time_ns);
  column->values.insert(column->values.begin() + i, StaleMarker());
  if (!column->steps.empty()) column->steps.insert(column->steps.begin() + i, kNoStep);
}

// Calls `dropped` for each series in `before` that is missing from `after`.
Status ForEachDropped(const Schema& before, const Schema& after, SeriesSet* set,
                      const std::function<void(uint32_t series)>& dropped) {
  ASSIGN_OR_RETURN(const WantedColumns* had, set->Of(before));
  const std::vector<uint32_t> series =
      had->series;  // a copy, because the next call may invalidate the original list
  ASSIGN_OR_RETURN(const WantedColumns* has, set->Of(after));
  const std::set<uint32_t> there(has->series.begin(), has->series.end());
  for (const uint32_t one : series) {
    if (!there.contains(one)) dropped(one);
  }
  return OkStatus();
}

}  // namespace

Status AddStaleMarkers(const HistoryStore& store, const StoredJob& job, const SampleQuery& query,
                       SeriesSet* set, std::vector<SampleColumn>* columns) {
  if (columns->empty()) return OkStatus();
  // A period of silence may start before the range and end within it.
  TimeRange range = query.range;
  if (range.from_ns > kMinPosition + kWindowNs) range.from_ns -= kWindowNs;
  std::optional<Sources> sources;
  int64_t newest_ns = 0;
  const Status read = WhileSealed(job, [&](uint64_t* version) -> Status {
    sources.emplace(set);
    std::vector<SegmentMeta> facts;
    std::vector<bool> alone;  // whether no heartbeats of that window are in memory
    std::vector<std::vector<MemTablePart>> heads;
    std::vector<Heartbeat> beats;
    {
      MutexLock lock(&job.mutex());
      *version = job.telemetry().windows().version();
      newest_ns = job.telemetry().newest_ns();
      for (const auto& [start, window] : job.windows()) {
        if (start + kWindowNs <= range.from_ns || start >= range.to_ns) continue;
        if (window.sealed.has_value()) {
          facts.push_back(*window.sealed);
          alone.push_back(window.head == nullptr);
        }
        if (window.head == nullptr) continue;
        window.head->beats().AppendTo(&beats);
        window.head->CopyTimes(&heads.emplace_back());
      }
    }
    for (const std::vector<MemTablePart>& parts : heads) RETURN_IF_ERROR(sources->TakeHead(parts));
    for (const SegmentMeta& one : facts) RETURN_IF_ERROR(sources->TakeSegment(store, one));
    for (size_t f = 0; f < facts.size(); ++f) {
      if (alone[f]) {
        ASSIGN_OR_RETURN(const SegmentStreamsPtr streams, StreamsOf(store, facts[f]));
        for (const HeartbeatRun& run : streams->beats) sources->TakeHeartbeats(run);
      } else {
        ASSIGN_OR_RETURN(const auto segment, store.segments().Open(facts[f]));
        RETURN_IF_ERROR(segment->ReadHeartbeats(&beats));
      }
    }
    // Heartbeats in memory and in segments may interleave, so each heartbeat becomes a separate
    // run.
    for (const Heartbeat& beat : beats) sources->TakeHeartbeats({beat.promise_ns, beat});
    return OkStatus();
  });
  RETURN_IF_ERROR(read);
  const auto end_at = [&](int64_t end_ns, uint32_t series) {
    if (end_ns < query.range.from_ns || end_ns >= query.range.to_ns) return;
    const Labels& labels = set->all()[series].labels;
    const auto at = std::lower_bound(
        columns->begin(), columns->end(), labels,
        [](const SampleColumn& column, const Labels& wanted) { return column.labels < wanted; });
    if (at != columns->end() && at->labels == labels) Insert(end_ns, &*at);
  };
  for (auto& [key, source] : sources->all()) {
    for (auto& [stream, runs] : source.streams) {
      std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
        return std::tie(a.first_ns, a.last_ns, a.schema) <
               std::tie(b.first_ns, b.last_ns, b.schema);
      });
      for (size_t i = 1; i < runs.size(); ++i) {
        if (runs[i].schema == runs[i - 1].schema) continue;
        const int64_t end_ns = runs[i].first_ns;
        RETURN_IF_ERROR(ForEachDropped(sources->schema(runs[i - 1].schema),
                                       sources->schema(runs[i].schema), set,
                                       [&](uint32_t series) { end_at(end_ns, series); }));
      }
    }
  }
  for (auto& [key, source] : sources->all()) {
    std::vector<HeartbeatRun>& list = source.beats;
    // Sorting makes the runs of each window consecutive and orders the windows.
    std::sort(list.begin(), list.end(), [](const HeartbeatRun& a, const HeartbeatRun& b) {
      return std::tie(a.first_ns, a.last.promise_ns, a.last.sequence) <
             std::tie(b.first_ns, b.last.promise_ns, b.last.sequence);
    });
    for (size_t i = 0; i < list.size(); ++i) {
      const Heartbeat& last = list[i].last;
      const int64_t next_ns = i + 1 < list.size() ? list[i + 1].first_ns : newest_ns;
      if (!last.goodbye && next_ns - last.promise_ns <= last.idle_ns) continue;
      for (const uint64_t schema : source.schemas) {
        ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(sources->schema(schema)));
        for (const uint32_t series : wanted->series) end_at(last.promise_ns + 1, series);
      }
    }
  }
  return OkStatus();
}

}  // namespace pitwall::history
