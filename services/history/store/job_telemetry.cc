#include "services/history/store/job_telemetry.h"

#include <algorithm>
#include <utility>

namespace pitwall::history {
namespace {

constexpr int64_t kAheadNs = 60 * kNanosPerSecond;  // same as the engine's clock_ahead_ns
// A source that is silent for this long loses its series, as in the engine.
constexpr int64_t kIdleNs = 5 * kNanosPerSecond;

int64_t IdleOf(const SourceInfo& info) {
  if (info.kind != SourceKind::kForeign) return kIdleNs;
  if (info.interval.ns() <= 0) return 60 * kNanosPerSecond;
  return std::max(kIdleNs, 3 * info.interval.ns());
}

// Returns the range of the frame's rows with times in [0, latest]. The times must be ascending.
std::pair<size_t, size_t> RowsWithin(const Frame& frame, int64_t latest) {
  const auto first = std::lower_bound(frame.times.begin(), frame.times.end(), 0);
  const auto last = std::upper_bound(first, frame.times.end(), latest);
  return {static_cast<size_t>(first - frame.times.begin()),
          static_cast<size_t>(last - frame.times.begin())};
}

// Returns the frame's rows [from, to).
Frame RowsOf(const Frame& whole, size_t from, size_t to) {
  Frame frame = whole;
  const size_t columns = whole.values.size() / whole.times.size();
  frame.times = whole.times.subspan(from, to - from);
  if (!whole.steps.empty()) frame.steps = whole.steps.subspan(from, to - from);
  frame.values = whole.values.subspan(from * columns, (to - from) * columns);
  return frame;
}

int64_t LatestOf(const RecordPlace& at) {
  return at.append_time_ns > 0 ? at.append_time_ns + kAheadNs : kMaxPosition;
}

// Returns the time up to which the batch is complete, or a number <= 0 if there is no such time.
// Third-party sources send no promise, so the newest sample defines their progress.
int64_t PromiseOf(const Batch& batch) {
  int64_t promise = batch.promise.ns();
  if (promise > 0) return promise;
  for (const Frame& frame : batch.frames) {
    if (!frame.times.empty()) promise = std::max(promise, frame.times.back());
  }
  return promise;
}

}  // namespace

void JobTelemetry::Restore(SourceMeta boot) {
  // A reload must not write newest_ns_, because the partition's thread reads it without locking.
  if (boot.last_ns > newest_ns_) newest_ns_ = boot.last_ns;
  sources_.Restore(std::move(boot));
}

const SourceMeta& JobTelemetry::RestoreSeen(const SourceMeta& boot) {
  const SourceMeta& known = sources_.RestoreSeen(boot);
  newest_ns_ = std::max(newest_ns_, known.last_ns);
  return known;
}

void JobTelemetry::Ingest(const Batch& batch, const RecordPlace& at, IngestCounts* counts) {
  SourceState* const source = sources_.Describe(batch);
  Reading reading{batch, at, source, counts,
                  BatchAdmission(&windows_, &source->key(), source->seen(), batch.sequence, at)};
  for (const SharedSchema& schema : batch.schemas) {
    if (schemas_.Add(schema) && !waiting_.empty()) Release(schema, counts);
  }
  for (const Frame& frame : batch.frames) {
    if (!frame.times.empty()) AddFrame(frame, &reading);
  }
  AddSpans(&reading);
  AddHeartbeat(&reading);
  counts->after_raw += reading.admission.after_raw();
  if (reading.admission.duplicate()) ++counts->duplicates;
}

void JobTelemetry::AddFrame(const Frame& whole, Reading* reading) {
  const auto [from, to] = RowsWithin(whole, LatestOf(reading->at));
  reading->counts->ahead += whole.times.size() - (to - from);
  if (from == to) return;
  const Frame frame = RowsOf(whole, from, to);
  SourceState* const source = reading->source;
  source->NoteSamples(frame.times.front(), frame.times.back());
  newest_ns_ = std::max(newest_ns_, frame.times.back());
  // Steps from clients without spans are also recorded, but only their ends are known.
  for (size_t i = 0; i < frame.steps.size(); ++i) {
    if (frame.steps[i] == kNoStep) continue;
    source->NoteStepStart(frame.times[i]);
    if (schemas_.EndsStep(frame, i)) source->NoteStepEnd(frame.times[i]);
  }
  const SharedSchema* const schema = schemas_.Find(frame.schema_id);
  if (schema == nullptr) return AddWaiting(frame, reading);
  AddRows(
      *schema, frame, source->origin(), reading->batch.sequence,
      [&](int64_t window_ns) { return reading->admission.Admit(window_ns); }, reading->counts);
}

template <typename HeadOf>
void JobTelemetry::AddRows(const SharedSchema& schema, const Frame& frame, const OriginPtr& origin,
                           uint64_t sequence, const HeadOf& head_of, IngestCounts* counts) {
  if (frame.values.size() != frame.times.size() * schema->series.size()) {
    ++counts->unread;
    return;
  }
  const size_t end = frame.times.size();
  for (size_t from = 0; from < end;) {
    const int64_t window_ns = WindowOf(frame.times[from]);
    const auto later = std::lower_bound(frame.times.begin() + static_cast<int64_t>(from),
                                        frame.times.end(), window_ns + kWindowNs);
    const auto to = static_cast<size_t>(later - frame.times.begin());
    if (MemTable* head = head_of(window_ns); head != nullptr) {
      const uint64_t samples = head->samples();
      windows_.AddTo(head, [&](MemTable* rows) {
        rows->AddRows(origin, schema, frame, from, to, sequence);
        derived_.AddTo(rows, origin, *schema, frame, from, to, sequence);
      });
      counts->samples += head->samples() - samples;
    }
    from = to;
  }
}

void JobTelemetry::AddWaiting(const Frame& frame, Reading* reading) {
  WaitingFrame waiting;
  for (const int64_t time : frame.times) {
    const int64_t window_ns = WindowOf(time);
    if (!waiting.windows.empty() && waiting.windows.back() == window_ns) continue;
    if (reading->admission.Admit(window_ns) != nullptr) waiting.windows.push_back(window_ns);
  }
  if (waiting.windows.empty()) return;
  waiting.origin = reading->source->origin();
  waiting.schema_id = frame.schema_id;
  waiting.sequence = reading->batch.sequence;
  waiting.mode = frame.mode;
  waiting.times.assign(frame.times.begin(), frame.times.end());
  waiting.steps.assign(frame.steps.begin(), frame.steps.end());
  waiting.values.assign(frame.values.begin(), frame.values.end());
  waiting.since_ns = reading->at.now_ns;
  reading->counts->unread += waiting_.Add(std::move(waiting));
}

void JobTelemetry::Release(const SharedSchema& schema, IngestCounts* counts) {
  for (const WaitingFrame& w : waiting_.Take(schema->id)) {
    AddRows(
        schema, w.View(), w.origin, w.sequence,
        [&](int64_t window_ns) -> MemTable* {
          const bool took = std::count(w.windows.begin(), w.windows.end(), window_ns) != 0;
          return took ? windows_.HeadOf(window_ns) : nullptr;
        },
        counts);
  }
}

void JobTelemetry::AddSpans(Reading* reading) {
  const int64_t latest = LatestOf(reading->at);
  for (const Span& span : reading->batch.spans) {
    if (span.end.ns() < 0 || span.end.ns() > latest) {
      ++reading->counts->ahead;
      continue;
    }
    if (span.kind == Span::Kind::kStep) {
      reading->source->NoteStepStart(span.start.ns());
      reading->source->NoteStepEnd(span.end.ns());
    }
    newest_ns_ = std::max(newest_ns_, span.end.ns());
    MemTable* const head = reading->admission.Admit(WindowOf(span.end.ns()));
    if (head == nullptr) continue;
    windows_.AddTo(head, [&](MemTable* rows) {
      rows->AddSpan(reading->source->origin(), span, reading->batch.sequence);
    });
  }
}

void JobTelemetry::AddHeartbeat(Reading* reading) {
  const Batch& batch = reading->batch;
  const int64_t promise = PromiseOf(batch);
  if (promise <= 0 || promise > LatestOf(reading->at)) return;
  newest_ns_ = std::max(newest_ns_, promise);
  MemTable* const head = reading->admission.Admit(WindowOf(promise));
  if (head == nullptr) return;
  windows_.AddTo(head, [&](MemTable* rows) {
    rows->AddHeartbeat({reading->source->origin(), promise, static_cast<int64_t>(batch.sequence),
                        IdleOf(batch.info), batch.goodbye});
  });
}

void JobTelemetry::Collect(const std::string& job, store::DatabaseChange* change) const {
  sources_.Collect(job, change);
  schemas_.Collect(job, change);
}

void JobTelemetry::MarkSaved() {
  sources_.MarkSaved();
  schemas_.MarkSaved();
}

void JobTelemetry::Fill(const JobEventFold& story, JobOverview* life) const {
  sources_.FillSources(life);
  story.Fill(life);
  sources_.FillSteps(life);
  windows_.Fill(life);
}

void JobTelemetry::Free() {
  sources_ = JobSources();
  schemas_ = JobSchemas();
  derived_ = DerivedRows();
  waiting_ = WaitingFrames();
  windows_.Free();
}

}  // namespace pitwall::history
