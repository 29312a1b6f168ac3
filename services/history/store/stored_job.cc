#include "services/history/store/stored_job.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/schema_binary.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr int64_t kAheadNs = 60 * kNanosPerSecond;  // same as the engine's clock_ahead_ns
constexpr size_t kMaxWaitingBytes = size_t{64} << 20;
// Duration of silence after which the series of a source end, as in the engine.
constexpr int64_t kIdleNs = 5 * kNanosPerSecond;

int64_t IdleOf(const SourceInfo& info) {
  if (info.kind != SourceKind::kForeign) return kIdleNs;
  if (info.interval_ns <= 0) return 60 * kNanosPerSecond;
  return std::max(kIdleNs, 3 * info.interval_ns);
}

// Returns the range of the frame's rows whose times are in [0, latest]. The times must be
// ascending.
std::pair<size_t, size_t> RowsWithin(const Frame& frame, int64_t latest) {
  const auto first = std::lower_bound(frame.times_ns.begin(), frame.times_ns.end(), 0);
  const auto last = std::upper_bound(first, frame.times_ns.end(), latest);
  return {static_cast<size_t>(first - frame.times_ns.begin()),
          static_cast<size_t>(last - frame.times_ns.begin())};
}

// Frees the container's memory, unlike clear().
template <typename Container>
void Free(Container* container) {
  Container().swap(*container);
}

int64_t LatestOf(const RecordPlace& at) {
  return at.append_time_ns > 0 ? at.append_time_ns + kAheadNs : kMaxPosition;
}

}  // namespace

void StoredJob::Restore(SourceMeta boot) {
  if (boot.last_ns > newest_ns_) newest_ns_ = boot.last_ns;
  const OriginKey key = {boot.origin->source, boot.origin->boot};
  boots_.insert_or_assign(key, std::move(boot));
}

const SourceMeta& StoredJob::RestoreSeen(const SourceMeta& boot) {
  const auto [at, added] = boots_.try_emplace({boot.origin->source, boot.origin->boot}, boot);
  at->second.first_ns = std::min(at->second.first_ns, boot.first_ns);
  at->second.last_ns = std::max(at->second.last_ns, boot.last_ns);
  newest_ns_ = std::max(newest_ns_, at->second.last_ns);
  return at->second;
}

void StoredJob::Restore(SharedSchema schema) {
  NoteSteps(*schema);
  schemas_.insert_or_assign(schema->id, schema);
}

void StoredJob::NoteSteps(const Schema& schema) {
  const auto at = std::ranges::find_if(schema.series, [](const SeriesDescriptor& series) {
    return series.labels.Name() == "train_step_duration_seconds";
  });
  if (at != schema.series.end())
    step_columns_[schema.id] = static_cast<size_t>(at - schema.series.begin());
}

// Returns whether the row ends a step. A rank repeats its state with the current step, even during
// a hang. Therefore, a step ends at the row that has its duration. If a source has no durations,
// every row with a step ends a step.
bool StoredJob::EndsStep(const Frame& frame, size_t row) const {
  if (frame.steps[row] == kNoStep) return false;
  if (step_columns_.empty()) return true;
  const auto column = step_columns_.find(frame.schema_id);
  if (column == step_columns_.end()) return false;
  const size_t columns = frame.values.size() / frame.times_ns.size();
  return !IsMissing(frame.values[row * columns + column->second]);
}

void StoredJob::Restore(SegmentMeta facts, std::map<OriginKey, SequenceRanges> seen) {
  WindowEntry& window = windows_[facts.window_ns];
  window.sealed = std::move(facts);
  window.seen = std::move(seen);
}

StoredJob::Source* StoredJob::SourceOf(const Batch& batch) {
  const auto known = sources_.find(ByNames::Names(batch.source, batch.boot_id));
  if (known != sources_.end()) return known->second.get();
  const auto [at, added] = boots_.try_emplace({batch.source, batch.boot_id});
  SourceMeta& boot = at->second;
  if (added) {
    boot.origin = std::make_shared<const Origin>(
        Origin{batch.source, batch.boot_id, batch.info.node, batch.info.rank, batch.info.kind});
    boot.start_ns = batch.info.start_ns;
  }
  std::unique_ptr<Source>& source = sources_[at->first];
  source = std::make_unique<Source>();
  source->key = &at->first;
  source->boot = &boot;
  return source.get();
}

void StoredJob::Describe(const Batch& batch, Source* source) {
  if (!source->dirty) dirty_boots_.push_back(source);
  source->dirty = true;
  SourceMeta* const boot = source->boot;
  boot->goodbye |= batch.goodbye;
  if (batch.goodbye) boot->goodbye_ns = std::max(boot->goodbye_ns, batch.promise_ns);
  if (batch.sequence >= boot->sequence) {
    boot->sequence = batch.sequence;
    boot->interval_ns = batch.info.interval_ns;
    if (!batch.owner.empty()) boot->owner = batch.owner;
  }
  for (const JobEvent& event : batch.events) {
    if (event.kind != JobEvent::Kind::kStarted) continue;
    if (!event.name.empty()) boot->job_name = event.name;
    if (event.reference != JobReference()) boot->reference = event.reference;
  }
}

MemTable* StoredJob::Admit(int64_t window_ns, Reading* reading) {
  const auto known = reading->admitted.find(window_ns);
  if (known != reading->admitted.end()) return known->second;
  MemTable*& head = reading->admitted[window_ns];
  head = nullptr;
  WindowEntry& window = windows_[window_ns];
  if (window.sealed.has_value() && !window.sealed->has_rows) {
    ++reading->counts->after_raw;
    return nullptr;
  }
  const Batch& batch = *reading->batch;
  Source& source = *reading->source;
  if (source.seen == nullptr || source.window_ns != window_ns) {
    source.seen = &window.seen[*source.key];
    source.window_ns = window_ns;
  }
  if (!source.seen->Add(batch.sequence)) {
    reading->duplicate = true;
    return nullptr;
  }
  if (window.head == nullptr) {
    window.head = std::make_unique<MemTable>();
    head_bytes_ += window.head->bytes();
    window.head_since_ns = reading->at.now_ns;
  }
  window.first_offset = std::min(window.first_offset, reading->at.offset);
  head = window.head.get();
  return head;
}

void StoredJob::AddKnown(const SharedSchema& schema, const Frame& frame, const OriginPtr& origin,
                         uint64_t sequence, const std::function<MemTable*(int64_t)>& window,
                         IngestCounts* counts) {
  if (frame.values.size() != frame.times_ns.size() * schema->series.size()) {
    ++counts->unread;
    return;
  }
  const size_t end = frame.times_ns.size();
  for (size_t from = 0; from < end;) {
    const int64_t window_ns = WindowOf(frame.times_ns[from]);
    const auto later = std::lower_bound(frame.times_ns.begin() + static_cast<int64_t>(from),
                                        frame.times_ns.end(), window_ns + kWindowNs);
    const auto to = static_cast<size_t>(later - frame.times_ns.begin());
    if (MemTable* head = window(window_ns); head != nullptr) {
      const size_t bytes = head->bytes();
      const uint64_t samples = head->samples();
      head->AddRows(origin, schema, frame, from, to, sequence);
      AddMade(schema, frame, from, to, origin, sequence, head);
      head_bytes_ += head->bytes() - bytes;
      counts->samples += head->samples() - samples;
    }
    from = to;
  }
}

void StoredJob::AddMade(const SharedSchema& schema, const Frame& frame, size_t from, size_t to,
                        const OriginPtr& origin, uint64_t sequence, MemTable* head) {
  const auto [at, added] = made_.try_emplace(schema->id);
  if (added) at->second = NodeMeans::Of(*schema);
  if (at->second == nullptr) return;
  const NodeMeans& means = *at->second;
  const size_t columns = schema->series.size();
  made_cells_.clear();
  for (size_t row = from; row < to; ++row)
    means.Append(frame.values.subspan(row * columns, columns), &made_cells_);
  Frame made;
  made.schema_id = means.schema()->id;
  made.times_ns = frame.times_ns.subspan(from, to - from);
  made.values = made_cells_;
  head->AddRows(origin, means.schema(), made, 0, to - from, sequence);
}

void StoredJob::AddFrame(const Frame& whole, Reading* reading) {
  const auto [from, to] = RowsWithin(whole, LatestOf(reading->at));
  reading->counts->ahead += whole.times_ns.size() - (to - from);
  if (from == to) return;
  Frame frame = whole;
  const size_t columns = whole.values.size() / whole.times_ns.size();
  frame.times_ns = whole.times_ns.subspan(from, to - from);
  if (!whole.steps.empty()) frame.steps = whole.steps.subspan(from, to - from);
  frame.values = whole.values.subspan(from * columns, (to - from) * columns);
  SourceMeta* boot = reading->boot;
  boot->first_ns = std::min(boot->first_ns, frame.times_ns.front());
  boot->last_ns = std::max(boot->last_ns, frame.times_ns.back());
  newest_ns_ = std::max(newest_ns_, frame.times_ns.back());
  // Steps of a client without spans are recorded as well, but only their ends are known.
  for (size_t i = 0; i < frame.steps.size(); ++i) {
    if (frame.steps[i] == kNoStep) continue;
    boot->first_step_ns = std::min(boot->first_step_ns, frame.times_ns[i]);
    if (EndsStep(frame, i)) boot->last_step_ns = std::max(boot->last_step_ns, frame.times_ns[i]);
  }
  const uint64_t sequence = reading->batch->sequence;
  const auto schema = schemas_.find(frame.schema_id);
  if (schema != schemas_.end()) {
    AddKnown(
        schema->second, frame, boot->origin, sequence,
        [&](int64_t window_ns) { return Admit(window_ns, reading); }, reading->counts);
    return;
  }
  Waiting waiting;
  waiting.origin = boot->origin;
  waiting.schema_id = frame.schema_id;
  waiting.sequence = sequence;
  waiting.mode = frame.mode;
  waiting.times.assign(frame.times_ns.begin(), frame.times_ns.end());
  waiting.steps.assign(frame.steps.begin(), frame.steps.end());
  waiting.values.assign(frame.values.begin(), frame.values.end());
  waiting.since_ns = reading->at.now_ns;
  for (const int64_t time : frame.times_ns) {
    const int64_t window_ns = WindowOf(time);
    if (!waiting.windows.empty() && waiting.windows.back() == window_ns) continue;
    if (Admit(window_ns, reading) != nullptr) waiting.windows.push_back(window_ns);
  }
  if (waiting.windows.empty()) return;
  waiting_bytes_ += waiting.values.size() * sizeof(double);
  waiting_.push_back(std::move(waiting));
  while (waiting_bytes_ > kMaxWaitingBytes) {
    waiting_bytes_ -= waiting_.front().values.size() * sizeof(double);
    waiting_.pop_front();
    ++reading->counts->unread;
  }
}

void StoredJob::Release(const SharedSchema& schema, IngestCounts* counts) {
  std::deque<Waiting> rest;
  for (Waiting& w : waiting_) {
    if (w.schema_id != schema->id) {
      rest.push_back(std::move(w));
      continue;
    }
    waiting_bytes_ -= w.values.size() * sizeof(double);
    const Frame frame{w.schema_id, w.times, w.steps, w.mode, w.values};
    AddKnown(
        schema, frame, w.origin, w.sequence,
        [&](int64_t window_ns) -> MemTable* {
          const bool took = std::count(w.windows.begin(), w.windows.end(), window_ns) != 0;
          return took ? windows_[window_ns].head.get() : nullptr;
        },
        counts);
  }
  waiting_ = std::move(rest);
}

void StoredJob::GiveUpWaiting(int64_t before_ns, IngestCounts* counts) {
  while (!waiting_.empty() && waiting_.front().since_ns < before_ns) {
    waiting_bytes_ -= waiting_.front().values.size() * sizeof(double);
    waiting_.pop_front();
    ++counts->unread;
  }
}

void StoredJob::Ingest(const Batch& batch, const RecordPlace& at, IngestCounts* counts) {
  used_ = true;
  Source* const source = SourceOf(batch);
  SourceMeta* const boot = source->boot;
  Describe(batch, source);
  Reading reading{&batch, at, source, boot, counts, {}};
  for (const SharedSchema& schema : batch.schemas) {
    const auto [known, added] = schemas_.try_emplace(schema->id, schema);
    // The schema restored from the catalog is a different object, so the object from the batches
    // replaces it.
    if (!added && &*known->second != &*schema && known->second->series == schema->series)
      known->second = schema;
    if (!added) continue;
    NoteSteps(*schema);
    new_schemas_.push_back(schema->id);
    if (!waiting_.empty()) Release(schema, counts);
  }
  for (const Frame& frame : batch.frames) {
    if (!frame.times_ns.empty()) AddFrame(frame, &reading);
  }
  const int64_t latest = LatestOf(at);
  for (const Span& span : batch.spans) {
    if (span.end_ns < 0 || span.end_ns > latest) {
      ++counts->ahead;
      continue;
    }
    if (span.kind == Span::Kind::kStep) {
      boot->first_step_ns = std::min(boot->first_step_ns, span.start_ns);
      boot->last_step_ns = std::max(boot->last_step_ns, span.end_ns);
    }
    newest_ns_ = std::max(newest_ns_, span.end_ns);
    MemTable* head = Admit(WindowOf(span.end_ns), &reading);
    if (head == nullptr) continue;
    const size_t bytes = head->bytes();
    head->AddSpan(boot->origin, span, batch.sequence);
    head_bytes_ += head->bytes() - bytes;
  }
  // Third-party sources send no promise, so the newest sample defines their progress.
  int64_t promise = batch.promise_ns;
  if (promise <= 0) {
    for (const Frame& frame : batch.frames) {
      if (!frame.times_ns.empty()) promise = std::max(promise, frame.times_ns.back());
    }
  }
  if (promise > 0 && promise <= latest) {
    newest_ns_ = std::max(newest_ns_, promise);
    if (MemTable* head = Admit(WindowOf(promise), &reading); head != nullptr) {
      const size_t bytes = head->bytes();
      head->AddHeartbeat({boot->origin, promise, static_cast<int64_t>(batch.sequence),
                          IdleOf(batch.info), batch.goodbye});
      head_bytes_ += head->bytes() - bytes;
    }
  }
  if (reading.duplicate) ++counts->duplicates;
}

void StoredJob::Collect(store::DatabaseChange* change) const {
  for (const Source* source : dirty_boots_) {
    const SourceMeta& boot = *source->boot;
    change->put.push_back({kBootRow, id_, BootKey(*boot.origin), EncodeBoot(boot)});
  }
  for (const uint64_t schema : new_schemas_) {
    StatusOr<store::DatabaseRow> packed = PackedSchemaRow(id_, *schemas_.at(schema));
    if (packed.ok()) {
      change->put.push_back(*std::move(packed));
      continue;
    }
    BinaryWriter body;  // zstd is out of memory
    codec::SaveSchema(*schemas_.at(schema), body);
    change->put.push_back({kSchemaRow, id_, NumberKey(schema), body.Take()});
  }
  for (const KeptRecord& record : records_)
    change->put.push_back({kEventRow, id_, NumberKey(record.number), EncodeRecord(record)});
}

void StoredJob::Collected(size_t records) {
  for (Source* source : dirty_boots_) source->dirty = false;
  dirty_boots_.clear();
  new_schemas_.clear();
  records_.erase(records_.begin(), records_.begin() + static_cast<int64_t>(records));
}

void StoredJob::Unsealed(int64_t window_ns) {
  windows_.erase(window_ns);
  for (const auto& [key, source] : sources_) source->seen = nullptr;
}

void StoredJob::Sealed(int64_t window_ns, SegmentMeta facts) {
  WindowEntry& window = windows_[window_ns];
  if (window.head != nullptr) head_bytes_ -= window.head->bytes();
  window.head = nullptr;
  window.first_offset = INT64_MAX;
  window.sealed = std::move(facts);
  ++version_;
}

Status StoredJob::MoveHead(int64_t window_ns, const std::shared_ptr<MemTableFile>& file) {
  MemTable& head = *windows_.at(window_ns).head;
  const size_t bytes = head.bytes();
  const Status moved = head.MoveTo(file);
  head_bytes_ += head.bytes() - bytes;
  return moved;
}

int64_t StoredJob::least_offset() const {
  int64_t least = INT64_MAX;
  for (const auto& [start, window] : windows_) least = std::min(least, window.first_offset);
  return least;
}

uint64_t StoredJob::disk_bytes() const {
  if (summary_ != nullptr) return summary_->disk_bytes;
  uint64_t bytes = 0;
  for (const auto& [start, window] : windows_)
    bytes += window.sealed.has_value() ? window.sealed->bytes : 0;
  return bytes;
}

bool StoredJob::Unload() {
  const bool unused = !std::exchange(used_, false);
  if (!unused || !loaded() || pins_ > 0 || head_bytes_ > 0 || dirty() || waiting()) return false;
  summary_ = std::make_unique<const Summary>(
      Summary{std::make_shared<const JobOverview>(Life()), disk_bytes()});
  FreeLoaded();
  return true;
}

void StoredJob::FreeLoaded() {
  Free(&sources_);  // freed before boots_, because sources_ points into boots_
  Free(&boots_);
  Free(&schemas_);
  Free(&step_columns_);
  Free(&made_);
  Free(&windows_);
  Free(&made_cells_);
  Free(&waiting_);
  Free(&records_);
  Free(&dirty_boots_);
  Free(&new_schemas_);
}

void StoredJob::EndLoad(const Status& loaded) {
  if (!loaded.ok()) return FreeLoaded();
  summary_ = nullptr;
  used_ = true;
}

JobLifePtr StoredJob::SharedLife() const {
  return summary_ != nullptr ? summary_->life : std::make_shared<const JobOverview>(Life());
}

JobOverview StoredJob::Life() const {
  if (summary_ != nullptr) return *summary_->life;
  JobOverview life;
  life.id = id_;
  std::map<std::string, int64_t> newest_start;
  for (const auto& [key, boot] : boots_) {
    if (life.name.empty()) life.name = boot.job_name;
    if (life.owner.empty()) life.owner = boot.owner;
    if (life.reference == JobReference()) life.reference = boot.reference;
    SourceLife& source = life.sources[boot.origin->source];
    source.source = boot.origin->source;
    const auto [start, first] = newest_start.try_emplace(source.source, boot.start_ns);
    if (first || boot.start_ns >= start->second) {
      start->second = boot.start_ns;
      source.node = boot.origin->node;
      source.rank = boot.origin->rank;
      source.interval_ns = boot.interval_ns;
      source.goodbye = boot.goodbye;
      source.goodbye_ns = boot.goodbye_ns;
    }
    if (boot.first_ns > boot.last_ns) continue;
    source.first_ns =
        source.first_ns == 0 ? boot.first_ns : std::min(source.first_ns, boot.first_ns);
    source.last_ns = std::max(source.last_ns, boot.last_ns);
    life.first_ns = life.first_ns == 0 ? boot.first_ns : std::min(life.first_ns, boot.first_ns);
    life.last_ns = std::max(life.last_ns, boot.last_ns);
  }
  story_.Fill(&life);
  for (const auto& [key, boot] : boots_) {
    if (boot.first_step_ns == INT64_MAX) continue;
    // If the first step is still running, only the start of the step is known.
    const int64_t last_step_ns = std::max(boot.first_step_ns, boot.last_step_ns);
    AttemptLife* attempt = nullptr;
    for (AttemptLife& a : life.attempts) {
      if (attempt == nullptr || a.began_ns <= last_step_ns) attempt = &a;
    }
    if (attempt == nullptr) continue;
    attempt->first_step_ns = attempt->first_step_ns == 0
                                 ? boot.first_step_ns
                                 : std::min(attempt->first_step_ns, boot.first_step_ns);
    attempt->last_step_ns = std::max(attempt->last_step_ns, last_step_ns);
  }
  bool raw_dropped = false;
  life.raw_dropped_ns = 0;
  for (const auto& [start, window] : windows_) {
    if (window.sealed.has_value()) {
      life.samples += window.sealed->samples;
      life.bytes += window.sealed->bytes;
      if (!window.sealed->has_rows) {
        raw_dropped = true;
        life.raw_dropped_ns = std::max(life.raw_dropped_ns, window.sealed->dropped_ns);
        life.raw_from_ns = start + kWindowNs;
      }
    }
    if (window.head != nullptr) life.samples += window.head->samples();
  }
  if (!raw_dropped) life.raw_from_ns = 0;
  return life;
}

}  // namespace pitwall::history
