// Where series end: their source said goodbye, nothing was heard of it for so long that the engine
// takes its series for ended, or the next schema of their stream is without them (time-model.md,
// sections 1.6 and 2.2).
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "services/insights/keep/job_reader.h"
#include "services/insights/keep/window_view.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

// Rows of one schema of one stream of a source, one after another.
struct Run {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t schema = 0;
};

// What decides where the wanted series of a job end. Sources without any are left out.
class Sources {
 public:
  using Stream = std::pair<OriginKey, uint32_t>;
  using Table = WindowSegment::RowsTable;

  explicit Sources(SeriesSet* set) : set_(set) {}

  Status TakeSegment(const WindowSegment& segment) {
    const std::vector<Table> tables = segment.RowsTables();
    return TakeTables(tables, true, [&](size_t i) { return segment.ReadTimes(i); });
  }
  Status TakeHead(const std::vector<HeadPart>& parts) {
    std::vector<Table> tables;
    for (const HeadPart& part : parts)
      tables.push_back({part.tail.origin, part.tail.schema, part.first_ns, part.last_ns});
    return TakeTables(tables, false, [&](size_t i) { return parts[i].Rows(); });
  }
  // After all tables: beats of sources with wanted series.
  void Take(const BeatRun& run) {
    const OriginPtr& origin = run.last.origin;
    const auto [at, added] = lists_.try_emplace(origin.get(), nullptr);
    if (added) {
      const auto known = schemas_.find(KeyOf(origin));
      if (known != schemas_.end()) at->second = &beats_[known->first];
    }
    if (at->second != nullptr) at->second->push_back(run);
  }

  std::map<OriginKey, std::vector<BeatRun>>& beats() { return beats_; }
  std::map<Stream, std::vector<Run>>& runs() { return runs_; }
  const std::set<uint64_t>& schemas(const OriginKey& key) const { return schemas_.at(key); }
  const Schema& schema(uint64_t id) const { return *by_id_.at(id); }

 private:
  static OriginKey KeyOf(const OriginPtr& origin) { return {origin->source, origin->boot}; }

  // `in_order`: what was taken is no later, but for heads, which are taken first.
  Status TakeTables(const std::vector<Table>& tables, bool in_order,
                    const std::function<StatusOr<RowTable>(size_t)>& rows) {
    // Most sources have one schema a stream: then nothing is compared with anything.
    absl::flat_hash_map<std::pair<const Origin*, uint32_t>, std::vector<size_t>> streams;
    for (size_t i = 0; i < tables.size(); ++i)
      streams[{tables[i].origin.get(), tables[i].schema->stream}].push_back(i);
    for (size_t i = 0; i < tables.size(); ++i) {
      const Table& table = tables[i];
      ASSIGN_OR_RETURN(const WantedColumns* wanted, set_->Of(*table.schema));
      const std::vector<size_t>& of_stream = streams[{table.origin.get(), table.schema->stream}];
      const Stream stream = {KeyOf(table.origin), table.schema->stream};
      // A schema without wanted series matters only where one with some came before it.
      const bool alone = wanted->columns.empty() && of_stream.size() == 1;
      if (in_order && alone && !runs_.contains(stream)) continue;
      by_id_.emplace(table.schema->id, table.schema);
      if (!wanted->columns.empty()) schemas_[stream.first].insert(table.schema->id);
      std::vector<Run>& runs = runs_[stream];
      const auto overlaps = [&](size_t j) {
        return j != i && tables[j].first_ns <= table.last_ns && table.first_ns <= tables[j].last_ns;
      };
      if (std::any_of(of_stream.begin(), of_stream.end(), overlaps)) {
        ASSIGN_OR_RETURN(const RowTable read, rows(i));
        for (const int64_t time : read.times) runs.push_back({time, time, table.schema->id});
      } else {
        runs.push_back({table.first_ns, table.last_ns, table.schema->id});
      }
    }
    return OkStatus();
  }

  SeriesSet* const set_;
  std::map<OriginKey, std::vector<BeatRun>> beats_;
  absl::flat_hash_map<const Origin*, std::vector<BeatRun>*> lists_;  // null: not wanted
  std::map<OriginKey, std::set<uint64_t>> schemas_;                  // with wanted series
  std::map<Stream, std::vector<Run>> runs_;
  std::map<uint64_t, SharedSchema> by_id_;
};

// Puts a marker at the time, unless the sample before it is a marker already.
void Insert(int64_t time_ns, SampleColumn* column) {
  const auto at = std::lower_bound(column->times_ns.begin(), column->times_ns.end(), time_ns);
  const auto i = at - column->times_ns.begin();
  if (i == 0 || (at != column->times_ns.end() && *at == time_ns)) return;
  if (IsStale(column->values[static_cast<size_t>(i) - 1])) return;
  column->times_ns.insert(at, time_ns);
  column->values.insert(column->values.begin() + i, StaleMarker());
  if (!column->steps.empty()) column->steps.insert(column->steps.begin() + i, kNoStep);
}

// Calls with each series of `before` that `after` is without.
Status ForEachDropped(const Schema& before, const Schema& after, SeriesSet* set,
                      const std::function<void(uint32_t series)>& dropped) {
  ASSIGN_OR_RETURN(const WantedColumns* had, set->Of(before));
  const std::vector<uint32_t> series = had->series;  // the next call may move it
  ASSIGN_OR_RETURN(const WantedColumns* has, set->Of(after));
  const std::set<uint32_t> there(has->series.begin(), has->series.end());
  for (const uint32_t one : series) {
    if (!there.contains(one)) dropped(one);
  }
  return OkStatus();
}

}  // namespace

Status JobReader::AddStaleMarkers(const KeptJobPtr& job, const SampleQuery& query,
                                  std::vector<SampleColumn>* columns) const {
  if (columns->empty()) return OkStatus();
  // A silence may begin before the range and end in it.
  TimeRange range = query.range;
  if (range.from_ns > kMinPosition + kWindowNs) range.from_ns -= kWindowNs;
  SeriesSet set(query.selectors, query.limits.series, &store_->schemas(), query.job);
  std::optional<Sources> sources;
  int64_t newest_ns = 0;
  constexpr int kTries = 8;
  Status status;
  for (int i = 0; i < kTries; ++i) {
    sources.emplace(&set);
    std::vector<SegmentFacts> facts;
    std::vector<bool> alone;  // no beats of that window are in memory
    std::vector<std::vector<HeadPart>> heads;
    std::vector<Beat> beats;
    uint64_t version = 0;
    {
      MutexLock lock(&job->mutex());
      version = job->version();
      newest_ns = job->newest_ns();
      for (const auto& [start, window] : job->windows()) {
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
    status = OkStatus();
    for (const std::vector<HeadPart>& parts : heads) RETURN_IF_ERROR(sources->TakeHead(parts));
    std::vector<std::shared_ptr<const WindowSegment>> segments;
    for (size_t f = 0; f < facts.size() && status.ok(); ++f) {
      auto segment = store_->Segment(facts[f]);
      status = segment.status();
      if (segment.ok()) status = sources->TakeSegment(**segment);
      if (status.ok()) segments.push_back(*std::move(segment));
    }
    std::vector<BeatRun> runs;
    for (size_t s = 0; s < segments.size() && status.ok(); ++s)
      status = alone[s] ? segments[s]->ReadBeatRuns(&runs) : segments[s]->ReadBeats(&beats);
    for (const BeatRun& run : runs) sources->Take(run);
    // Those of one window may lie between each other: each is a run of its own.
    for (const Beat& beat : beats) sources->Take({beat.promise_ns, beat});
    if (!absl::IsDataLoss(status)) break;
    MutexLock lock(&job->mutex());
    // Sealed again meanwhile: the file that was to be read is gone. Else it is damaged.
    if (job->version() == version) break;
  }
  RETURN_IF_ERROR(status);
  std::map<Labels, SampleColumn*> by_labels;
  for (SampleColumn& column : *columns) by_labels[column.labels] = &column;
  const auto end_at = [&](int64_t end_ns, uint32_t series) {
    if (end_ns < query.range.from_ns || end_ns >= query.range.to_ns) return;
    const auto at = by_labels.find(set.all()[series].labels);
    if (at != by_labels.end()) Insert(end_ns, at->second);
  };
  for (auto& [stream, runs] : sources->runs()) {
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
      return std::tie(a.first_ns, a.last_ns, a.schema) < std::tie(b.first_ns, b.last_ns, b.schema);
    });
    for (size_t i = 1; i < runs.size(); ++i) {
      if (runs[i].schema == runs[i - 1].schema) continue;
      const int64_t end_ns = runs[i].first_ns;
      RETURN_IF_ERROR(ForEachDropped(sources->schema(runs[i - 1].schema),
                                     sources->schema(runs[i].schema), &set,
                                     [&](uint32_t series) { end_at(end_ns, series); }));
    }
  }
  for (auto& [key, list] : sources->beats()) {
    // Runs of one window follow each other, and windows do.
    std::sort(list.begin(), list.end(), [](const BeatRun& a, const BeatRun& b) {
      return std::tie(a.first_ns, a.last.promise_ns, a.last.sequence) <
             std::tie(b.first_ns, b.last.promise_ns, b.last.sequence);
    });
    for (size_t i = 0; i < list.size(); ++i) {
      const Beat& last = list[i].last;
      const int64_t next_ns = i + 1 < list.size() ? list[i + 1].first_ns : newest_ns;
      if (!last.goodbye && next_ns - last.promise_ns <= last.idle_ns) continue;
      for (const uint64_t schema : sources->schemas(key)) {
        ASSIGN_OR_RETURN(const WantedColumns* wanted, set.Of(sources->schema(schema)));
        for (const uint32_t series : wanted->series) end_at(last.promise_ns + 1, series);
      }
    }
  }
  return OkStatus();
}

}  // namespace pitwall::insights
