#include "services/engine/sources/source.h"

#include <algorithm>
#include <map>

#include "services/codec/schema_binary.h"
#include "services/engine/sources/pending_bytes.h"

namespace pitwall::engine {

void BoundColumns::Release() {
  if (const auto owner = store.lock(); owner != nullptr && generation != 0)
    owner->ReleasePlan(plan);
  store.reset();
  generation = 0;
}

EventTime Source::EffectivePromise() const {
  EventTime least = promise;
  for (const PendingFrame& frame : waiting) {
    if (!frame.times.empty()) least = std::min(least, frame.times.front().Previous());
  }
  return least;
}

// Limit for a declared or measured interval. The interval comes from the client.
constexpr Duration kLongestInterval = Duration::Days(1);

Duration Source::IdleAfter(const EngineOptions& options) const {
  if (!IsForeign()) return options.liveness.idle_after;
  Duration interval = info.interval;
  if (interval <= Duration::Zero()) {
    interval = silence.gaps.size() < 2
                   ? options.liveness.foreign_unknown_interval
                   : *std::max_element(silence.gaps.begin(), silence.gaps.end());
  }
  return std::max(options.liveness.idle_after, 3 * std::min(interval, kLongestInterval));
}

bool Source::Accept(const Batch& batch, EngineCounters& counters) {
  const uint64_t before = window.missing();
  if (!window.Accept(batch.sequence, batch.first_sequence)) return false;
  // A gap that is later filled is subtracted, so the total can decrease.
  counters.gaps += window.missing() - before;
  return true;
}

bool Source::Tick(Duration elapsed, const EngineOptions& options) {
  if (!silence.tick_skipped) {
    silence.tick_skipped = true;
    return false;
  }
  silence.idle += elapsed;
  return live && silence.idle > IdleAfter(options);
}

bool Source::AddSchema(const Schema& schema, const EngineOptions& options, PendingBytes* memory) {
  if (const auto it = schemas.find(schema.id); it != schemas.end()) {
    it->second->last_used = batches;
    return true;
  }
  if (!memory->Take(PendingKind::kSchemas, HeldBytes(schema))) return false;
  if (schemas.size() >= options.source.max_schemas) {
    auto oldest = schemas.end();
    for (auto it = schemas.begin(); it != schemas.end(); ++it) {
      const bool in_use = std::any_of(streams.begin(), streams.end(),
                                      [&](const auto& s) { return s.second == it->first; });
      if (!in_use && (oldest == schemas.end() || it->second->last_used < oldest->second->last_used))
        oldest = it;
    }
    if (oldest != schemas.end()) {
      memory->Give(PendingKind::kSchemas, HeldBytes(oldest->second->schema));
      schemas.erase(oldest);  // Frames that still use the schema keep a reference to it.
    }
  }
  auto binding = std::make_shared<Binding>();
  binding->schema = schema;
  binding->last_used = batches;
  schemas.emplace(schema.id, std::move(binding));
  return true;
}

bool Source::HasRoomForMode(const std::string& mode, const EngineOptions& options) const {
  return steps.contains(mode) ||
         (mode.size() <= options.source.max_mode_bytes && steps.size() < options.source.max_modes);
}

bool Source::Carries(std::string_view metric) const {
  for (const auto& [stream, schema_id] : streams) {
    const auto it = schemas.find(schema_id);
    if (it == schemas.end()) continue;
    for (const SeriesDescriptor& series : it->second->schema.series) {
      if (series.labels.Name() == metric) return true;
    }
  }
  return false;
}

namespace {

std::vector<int64_t> NumbersOf(const std::vector<EventTime>& times) {
  std::vector<int64_t> numbers;
  numbers.reserve(times.size());
  for (const EventTime time : times) numbers.push_back(time.ns());
  return numbers;
}

std::vector<int64_t> NumbersOf(const std::vector<Step>& steps) {
  std::vector<int64_t> numbers;
  numbers.reserve(steps.size());
  for (const Step step : steps) numbers.push_back(step.value());
  return numbers;
}

void SaveFrame(const PendingFrame& frame, BinaryWriter& out) {
  out.U64(frame.schema_id);
  out.U64(frame.sequence);
  out.U64(frame.index);
  out.Str(frame.mode);
  out.I64s(NumbersOf(frame.times));
  out.I64s(NumbersOf(frame.steps));
  out.Doubles(frame.values);
  out.U64(frame.next);
  out.I64(frame.waited.ns());
  out.I64(frame.offset.value());
  // A schema may have been evicted from the source while a frame still references it.
  out.Bool(frame.binding != nullptr);
  if (frame.binding != nullptr) codec::SaveSchema(frame.binding->schema, out);
}

PendingFrame RestoreFrame(BinaryReader& in, std::map<uint64_t, std::shared_ptr<Binding>>& schemas) {
  PendingFrame frame;
  frame.schema_id = in.U64();
  frame.sequence = in.U64();
  frame.index = static_cast<uint32_t>(in.U64());
  frame.mode = in.Str();
  for (const int64_t ns : in.I64s()) frame.times.push_back(EventTime::FromNs(ns));
  for (const int64_t step : in.I64s()) frame.steps.push_back(Step(step));
  frame.values = in.Doubles();
  frame.next = in.U64();
  frame.waited = Duration::Nanos(in.I64());
  frame.offset = LogOffset(in.I64());
  if (in.Bool()) {
    Schema schema = codec::RestoreSchema(in);
    if (const auto it = schemas.find(schema.id); it != schemas.end()) {
      frame.binding = it->second;
    } else {
      frame.binding = std::make_shared<Binding>();
      frame.binding->schema = std::move(schema);
    }
  }
  const bool fits =
      frame.next <= frame.times.size() &&
      (frame.steps.empty() || frame.steps.size() == frame.times.size()) &&
      (frame.times.empty() ? frame.values.empty()
                           : frame.values.size() % frame.times.size() == 0) &&
      (frame.binding == nullptr || frame.columns() == frame.binding->schema.series.size());
  if (!fits) in.Fail();
  return frame;
}

}  // namespace

void Source::Save(BinaryWriter& out) const {
  out.Str(id);
  out.U8(static_cast<uint8_t>(info.kind));
  out.Str(info.node);
  out.I64(info.rank);
  out.I64(info.start.ns());
  out.Bool(info.attempt.has_value());
  out.U64(info.attempt.value_or(0));
  out.I64(info.interval.ns());
  out.U64(info.step_modes.size());
  for (const std::string& mode : info.step_modes) out.Str(mode);
  out.Str(boot);
  window.Save(out);
  out.I64(promise.ns());
  out.I64(newest_sample.ns());
  out.Bool(live);
  out.Bool(goodbye);
  out.I64(ended_at.ns());
  out.Bool(silence.tick_skipped);
  out.I64(silence.idle.ns());
  std::vector<int64_t> gaps;
  for (const Duration gap : silence.gaps) gaps.push_back(gap.ns());
  out.I64s(gaps);
  out.I64(clock.trailing.ns());
  out.Bool(clock.behind);
  out.Bool(clock.ahead);
  out.Bool(attempt.has_value());
  out.U64(attempt.value_or(0));
  out.Bool(process.started);
  out.Bool(process.running);
  out.Bool(process.lost);
  out.Bool(process.loss_reported);
  out.U64(steps.size());
  for (const auto& [mode, progress] : steps) {
    out.Str(mode);
    out.Bool(progress.announced);
    out.I64(progress.promise.value());
    out.I64(progress.last.value());
    out.U64(progress.clock);
    out.U64(progress.reached);
  }
  out.Bool(step_live);
  out.U64(batches);
  out.U64(schemas.size());
  for (const auto& [schema_id, binding] : schemas) {
    codec::SaveSchema(binding->schema, out);
    out.U64(binding->last_used);
    out.U64(binding->steps.size());
    for (const auto& [mode, columns] : binding->steps) out.Str(mode);
  }
  out.U64(streams.size());
  for (const auto& [stream, schema_id] : streams) {
    out.U64(stream);
    out.U64(schema_id);
  }
  for (const auto* frames : {&pending, &waiting}) {
    out.U64(frames->size());
    for (const PendingFrame& frame : *frames) SaveFrame(frame, out);
  }
}

namespace {

// Format 6 stores promises and newest steps separately, and does not include the clocks of ranks
// that have fallen behind.
void RestoreStepsOfFormat6(BinaryReader& in,
                           std::map<std::string, StepProgress, std::less<>>* steps) {
  for (size_t n = in.Count(2); n > 0; --n) {
    StepProgress& progress = (*steps)[in.Str()];
    progress.announced = true;
    progress.promise = Step(in.I64());
  }
  for (size_t n = in.Count(2); n > 0; --n) {
    StepProgress& progress = (*steps)[in.Str()];
    progress.last = Step(in.I64());
  }
}

}  // namespace

Status Source::Restore(BinaryReader& in, uint32_t format) {
  id = in.Str();
  info.kind = static_cast<SourceKind>(in.U8());
  info.node = in.Str();
  info.rank = in.I64();
  info.start = EventTime::FromNs(in.I64());
  const bool has_attempt = in.Bool();
  const uint64_t explicit_attempt = in.U64();
  if (has_attempt) info.attempt = explicit_attempt;
  info.interval = Duration::Nanos(in.I64());
  info.step_modes.resize(in.Count());
  for (std::string& mode : info.step_modes) mode = in.Str();
  boot = in.Str();
  window.Restore(in);
  promise = EventTime::FromNs(in.I64());
  newest_sample = EventTime::FromNs(in.I64());
  live = in.Bool();
  goodbye = in.Bool();
  ended_at = EventTime::FromNs(in.I64());
  silence.tick_skipped = in.Bool();
  silence.idle = Duration::Nanos(in.I64());
  for (const int64_t gap : in.I64s()) silence.gaps.push_back(Duration::Nanos(gap));
  clock.trailing = Duration::Nanos(in.I64());
  clock.behind = in.Bool();
  clock.ahead = in.Bool();
  const bool in_attempt = in.Bool();
  const uint64_t its_attempt = in.U64();
  if (in_attempt) attempt = its_attempt;
  process.started = in.Bool();
  process.running = in.Bool();
  process.lost = in.Bool();
  process.loss_reported = in.Bool();
  if (format < 7) {
    RestoreStepsOfFormat6(in, &steps);
  } else {
    for (size_t n = in.Count(5); n > 0; --n) {
      StepProgress& progress = steps[in.Str()];
      progress.announced = in.Bool();
      progress.promise = Step(in.I64());
      progress.last = Step(in.I64());
      progress.clock = static_cast<uint32_t>(in.U64());
      progress.reached = in.U64();
    }
  }
  step_live = in.Bool();
  batches = in.U64();
  for (size_t n = in.Count(3); n > 0; --n) {
    auto binding = std::make_shared<Binding>();
    binding->schema = codec::RestoreSchema(in);
    binding->last_used = in.U64();
    // The columns are not bound yet. The modes with steps determine the series that get a stale
    // marker.
    for (size_t modes = in.Count(); modes > 0; --modes)
      binding->steps[in.Str()] = std::make_unique<BoundColumns>();
    schemas.emplace(binding->schema.id, binding);
  }
  for (size_t n = in.Count(2); n > 0; --n) {
    const auto stream = static_cast<uint32_t>(in.U64());
    streams[stream] = in.U64();
  }
  for (auto* frames : {&pending, &waiting}) {
    for (size_t n = in.Count(8); n > 0; --n) frames->push_back(RestoreFrame(in, schemas));
  }
  return in.ok() ? OkStatus() : DataLoss("snapshot: source state is damaged");
}

}  // namespace pitwall::engine
