#include "services/history/remote/remote_write_encoder.h"

#include <algorithm>
#include <tuple>

#include "services/base/clock.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kJobLabel = "pitwall_job";  // same label as in promapi
// Maximum time by which a sample may be ahead of its record, as in the history.
constexpr int64_t kAheadNs = 60 * kNanosPerSecond;
constexpr int64_t kIdleNs = 5 * kNanosPerSecond;
constexpr int64_t kLookEveryNs = kNanosPerSecond;
constexpr int64_t kForgetSchemaNs = 600 * kNanosPerSecond;
constexpr int64_t kForgetNs = 3600 * kNanosPerSecond;  // for each job and each boot of a job

int64_t IdleOf(const SourceInfo& info) {
  if (info.kind != SourceKind::kForeign) return kIdleNs;
  if (info.interval.ns() <= 0) return 60 * kNanosPerSecond;
  return std::max(kIdleNs, 3 * info.interval.ns());
}

bool Any(const std::vector<Matcher>& matchers, std::string_view text) {
  return matchers.empty() || std::any_of(matchers.begin(), matchers.end(),
                                         [&](const Matcher& m) { return m.Matches(text); });
}

}  // namespace

std::vector<RemoteWriteEncoder::Column> RemoteWriteEncoder::ColumnsOf(const std::string& job_id,
                                                                      const Schema& schema,
                                                                      uint64_t* merged) {
  std::vector<Column> out;
  std::set<Labels> there;
  for (uint32_t i = 0; i < schema.series.size(); ++i) {
    const Labels& labels = schema.series[i].labels;
    if (!Any(filter_.metrics, labels.Name())) continue;
    std::vector<Label> kept;
    for (const Label& label : labels) {
      if (label.name == kMetricName || Any(filter_.labels, label.name)) kept.push_back(label);
    }
    kept.push_back({std::string(kJobLabel), job_id});
    Column column{i, {}};
    column.series.labels = Labels::FromPairs(std::move(kept));
    if (!filter_.labels.empty() && !there.insert(column.series.labels).second) {
      ++*merged;
      continue;
    }
    column.series.id = next_id_++;
    out.push_back(std::move(column));
  }
  return out;
}

void RemoteWriteEncoder::Learn(const std::string& job_id, const SharedSchema& schema, Job* job) {
  const auto [at, added] = job->schemas.try_emplace(schema->id);
  KnownSchema& known = at->second;
  known.used_ns = now_ns_;
  if (!added) return;
  known.schema = schema;
  known.columns = ColumnsOf(job_id, schema, &counts_.merged);
  known.means = NodeMeans::Of(schema);
  if (known.means != nullptr)
    known.made = ColumnsOf(job_id, known.means->schema(), &counts_.merged);
  if (known.made.empty()) known.means = nullptr;
  series_ += known.columns.size() + known.made.size();
}

void RemoteWriteEncoder::Add(MirroredSeries* series, int64_t time_ms, double value) {
  const bool late = time_ms < series->last_ms;
  if (time_ms == series->last_ms && series->flush != flush_) {
    if (!warm_up_) ++counts_.merged;  // a different sample of this millisecond is sent
    return;
  }
  if (!late) {
    series->last_ms = time_ms;
    series->flush = flush_;
    series->ended = IsStale(value);
  }
  if (!warm_up_) pending_.push_back({late ? kLateGroup : group_, series, time_ms, value});
}

void RemoteWriteEncoder::Mark(MirroredSeries* series, int64_t time_ns) {
  if (series->ended) return;
  // A marker at the time of the last sample would overwrite that sample.
  Add(series, std::max((time_ns + kNanosPerMilli - 1) / kNanosPerMilli, series->last_ms + 1),
      StaleMarker());
}

void RemoteWriteEncoder::Switch(uint64_t before, KnownSchema* after, int64_t time_ns, Job* job) {
  const auto known = job->schemas.find(before);
  if (known == job->schemas.end()) return;
  std::map<Labels, MirroredSeries*> there;
  for (auto* columns : {&after->columns, &after->made}) {
    for (Column& column : *columns) there.emplace(column.series.labels, &column.series);
  }
  for (auto* columns : {&known->second.columns, &known->second.made}) {
    for (Column& column : *columns) {
      MirroredSeries& old = column.series;
      const auto next = there.find(old.labels);
      if (next == there.end()) {
        Mark(&old, time_ns);
        continue;
      }
      if (old.last_ms > next->second->last_ms) {
        next->second->last_ms = old.last_ms;
        next->second->flush = old.flush;
      }
      next->second->ended &= old.ended;
      old.ended = true;  // the series continues in the next schema
    }
  }
  ++group_;
}

void RemoteWriteEncoder::AddFrame(const Frame& frame, int64_t append_time_ns, Source* source,
                                  Job* job) {
  if (frame.times.empty()) return;
  const auto at = job->schemas.find(frame.schema_id);
  if (at == job->schemas.end()) {
    if (!warm_up_) counts_.no_schema += frame.values.size();
    return;
  }
  KnownSchema& known = at->second;
  const size_t width = known.schema->series.size();
  if (frame.values.size() != frame.times.size() * width) return;
  known.used_ns = now_ns_;
  const auto [stream, first] = source->streams.try_emplace(known.schema->stream, known.schema->id);
  if (!first && stream->second != known.schema->id) {
    Switch(stream->second, &known, frame.times.front(), job);
    stream->second = known.schema->id;
  }
  const int64_t latest = append_time_ns > 0 ? append_time_ns + kAheadNs : INT64_MAX;
  for (size_t row = 0; row < frame.times.size(); ++row) {
    const int64_t time_ns = frame.times[row];
    if (time_ns < 0 || time_ns > latest) {
      if (!warm_up_) counts_.ahead += width;
      continue;
    }
    job->newest_ns = std::max(job->newest_ns, time_ns);
    const int64_t time_ms = time_ns / kNanosPerMilli;
    const auto values = frame.values.subspan(row * width, width);
    const auto add = [&](std::vector<Column>* columns, std::span<const double> cells) {
      for (Column& column : *columns) {
        const double value = cells[column.column];
        if (!IsMissing(value)) Add(&column.series, time_ms, value);
      }
    };
    add(&known.columns, values);
    if (known.means == nullptr) continue;
    made_.clear();
    known.means->Append(values, &made_);
    add(&known.made, made_);
  }
}

void RemoteWriteEncoder::End(Source* source, Job* job) {
  source->ended = true;
  for (const auto& [stream, id] : source->streams) {
    const auto known = job->schemas.find(id);
    if (known == job->schemas.end()) continue;
    for (auto* columns : {&known->second.columns, &known->second.made}) {
      for (Column& column : *columns) Mark(&column.series, source->promise_ns + 1);
    }
  }
}

void RemoteWriteEncoder::EndSilent(Job* job) {
  if (job->newest_ns < job->looked_ns + kLookEveryNs && job->looked_ns != INT64_MIN) return;
  job->looked_ns = job->newest_ns;
  for (auto& [key, source] : job->sources) {
    if (!source.ended && source.promise_ns > 0 &&
        job->newest_ns - source.promise_ns > source.idle_ns)
      End(&source, job);
  }
}

void RemoteWriteEncoder::Take(const Batch& batch, int64_t append_time_ns, bool warm_up) {
  warm_up_ = warm_up;
  now_ns_ = append_time_ns;
  Job& job = jobs_[batch.job];
  job.last_ns = append_time_ns;
  for (const SharedSchema& schema : batch.schemas) Learn(batch.job, schema, &job);
  Source& source = job.sources[{batch.source, batch.boot_id}];
  source.last_ns = append_time_ns;
  if (!source.seen.Add(batch.sequence)) {
    if (!warm_up) ++counts_.duplicates;
    return;
  }
  source.idle_ns = IdleOf(batch.info);
  if (!batch.frames.empty()) source.ended = false;
  int64_t promise = batch.promise.ns();
  for (const Frame& frame : batch.frames) {
    AddFrame(frame, append_time_ns, &source, &job);
    if (batch.promise.ns() <= 0 && !frame.times.empty())
      promise = std::max(promise, frame.times.back());
  }
  if (promise > 0 && promise <= append_time_ns + kAheadNs) {
    source.promise_ns = std::max(source.promise_ns, promise);
    job.newest_ns = std::max(job.newest_ns, promise);
  }
  if (batch.goodbye && !source.ended) End(&source, &job);
  EndSilent(&job);
}

const std::vector<MirroredSample>& RemoteWriteEncoder::Pending() {
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const MirroredSample& a, const MirroredSample& b) {
                     return std::tie(a.group, a.series->id, a.time_ms) <
                            std::tie(b.group, b.series->id, b.time_ms);
                   });
  // The last sample of each millisecond is used.
  size_t kept = 0;
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (kept > 0 && pending_[kept - 1].series == pending_[i].series &&
        pending_[kept - 1].time_ms == pending_[i].time_ms) {
      pending_[kept - 1] = pending_[i];
      ++counts_.merged;
    } else {
      pending_[kept++] = pending_[i];
    }
  }
  pending_.resize(kept);
  return pending_;
}

size_t RemoteWriteEncoder::Fresh() const {
  return static_cast<size_t>(
      std::partition_point(pending_.begin(), pending_.end(),
                           [](const MirroredSample& s) { return s.group != kLateGroup; }) -
      pending_.begin());
}

void RemoteWriteEncoder::Forget() {
  pending_.clear();
  group_ = 0;
  ++flush_;
  if (now_ns_ < forgot_ns_ + 60 * kNanosPerSecond) return;
  forgot_ns_ = now_ns_;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = at->second;
    const bool silent = now_ns_ - job.last_ns > kForgetNs;
    std::erase_if(job.schemas, [&](const auto& known) {
      const bool old = silent || now_ns_ - known.second.used_ns > kForgetSchemaNs;
      if (old) series_ -= known.second.columns.size() + known.second.made.size();
      return old;
    });
    std::erase_if(job.sources, [&](const auto& source) {
      return source.second.ended && now_ns_ - source.second.last_ns > kForgetNs;
    });
    at = silent ? jobs_.erase(at) : std::next(at);
  }
}

}  // namespace pitwall::history
