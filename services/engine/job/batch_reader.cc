#include "services/engine/job/batch_reader.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/engine/sources/log_time.h"

namespace pitwall::engine {

BatchReader::BatchReader(const EngineOptions& options, EngineCounters* counters,
                         const JobClock* clock, JobInput* input, EngineSeries* series)
    : options_(options),
      counters_(counters),
      clock_(clock),
      sources_(&input->sources()),
      frames_(&input->frames()),
      schedule_(&input->schedule()),
      liveness_(options, input, series) {}

Source* BatchReader::Read(const RecordPosition& at, const Batch& batch, std::string_view raw,
                          EventSink* out) {
  Source* source = FindOrAddSource(batch);
  if (source == nullptr) return nullptr;
  if (!source->Accept(batch, *counters_)) {
    counters_->Count(Drop::kDuplicate);
    return nullptr;
  }
  source->ResetSilence();
  ++source->batches;
  frames_->AddSchemas(batch.schemas, source);
  ReadFrames(at, batch, raw, source, out);
  const bool believed = ReadPromise(at, batch, source);
  ReadEvents(at, batch, believed, source);
  return source;
}

Source* BatchReader::FindOrAddSource(const Batch& batch) {
  const auto [source, fresh] = sources_->FindOrAdd(batch);
  if (fresh && !source->IsForeign()) {
    schedule_->Add(source->start(), Phase::kBegin, *source, 0, 0,
                   {.kind = TimelineEvent::Kind::kBoot});
  }
  return source;
}

EventTime BatchReader::Latest(const RecordPosition& at) const {
  return options_.check_append_time ? EventTimeAt(at.append_time) + options_.liveness.clock_ahead
                                    : EventTime::Latest();
}

std::string BatchReader::ProblemOf(const Frame& frame, const Source& source) {
  const size_t columns = frame.values.size() / frame.times.size();
  const auto schema = source.schemas.find(frame.schema_id);
  if (frame.values.size() % frame.times.size() != 0 ||
      (schema != source.schemas.end() && columns != schema->second->schema.series.size())) {
    return Cat("frame has ", frame.values.size(), " values for ", frame.times.size(),
               " ticks, which does not match its schema");
  }
  const auto bad = std::find_if(frame.steps.begin(), frame.steps.end(), [](int64_t step) {
    return step != kNoStep && (step < 0 || step > kMaxStep);
  });
  if (bad == frame.steps.end()) return "";
  return Cat("step ", *bad, " is not in 0..", kMaxStep);
}

void BatchReader::ReadFrames(const RecordPosition& at, const Batch& batch, std::string_view raw,
                             Source* source, EventSink* out) {
  bool ahead = false;
  uint32_t index = 0;
  for (const Frame& frame : batch.frames) {
    const uint32_t frame_index = index++;
    if (frame.times.empty()) continue;
    if (std::string problem = ProblemOf(frame, *source); !problem.empty()) {
      counters_->Count(Drop::kMalformed);
      out->AddDeadLetter(batch.source, raw, std::move(problem), at.offset);
      continue;
    }
    PendingFrame pending;
    pending.schema_id = frame.schema_id;
    pending.sequence = batch.sequence;
    pending.offset = at.offset;
    pending.index = frame_index;
    pending.mode = frame.mode;
    if (CopyRows(frame, Latest(at), &pending)) ahead = true;
    if (pending.times.empty()) continue;
    if (!source->schemas.contains(frame.schema_id) &&
        source->waiting.size() >= options_.source.max_waiting_frames) {
      counters_->Count(Drop::kUnknownSchema);
      out->AddDeadLetter(batch.source, raw,
                         "unknown schema; too many frames are waiting for their schemas",
                         at.offset);
      continue;
    }
    frames_->Add(std::move(pending), source);
  }
  if (ahead != source->clock.ahead && !batch.frames.empty()) {
    source->clock.ahead = ahead;
    liveness_.Flag(*source, "clock_ahead", ahead);
  }
}

bool BatchReader::CopyRows(const Frame& frame, EventTime latest, PendingFrame* pending) {
  const size_t columns = frame.values.size() / frame.times.size();
  const EventTime passed = clock_->passed();
  bool ahead = false;
  pending->values.reserve(frame.values.size());
  for (size_t row = 0; row < frame.times.size(); ++row) {
    const EventTime time = EventTime::FromNs(frame.times[row]);
    if (time <= passed) {
      counters_->Count(Drop::kLate, columns);
      continue;
    }
    if (time > latest) {
      counters_->Count(Drop::kClockAhead, columns);
      ahead = true;
      continue;
    }
    pending->times.push_back(time);
    if (!frame.steps.empty()) pending->steps.push_back(Step(frame.steps[row]));
    const auto values = frame.values.subspan(row * columns, columns);
    pending->values.insert(pending->values.end(), values.begin(), values.end());
  }
  return ahead;
}

bool BatchReader::ReadPromise(const RecordPosition& at, const Batch& batch, Source* source) {
  if (source->IsForeign()) {
    ReadForeignPromise(at, batch, source);
    return true;
  }
  if (batch.promise == EventTime()) return true;
  const EventTime promise = batch.promise;
  if (options_.check_append_time && promise > Latest(at)) {
    counters_->Count(Drop::kClockAhead);
    if (!source->clock.ahead) {
      source->clock.ahead = true;
      liveness_.Flag(*source, "clock_ahead", true);
    }
    return false;
  }
  source->promise = std::max(source->promise, promise);
  return true;
}

void BatchReader::ReadForeignPromise(const RecordPosition& at, const Batch& batch, Source* source) {
  const EventTime latest = Latest(at);
  EventTime newest = EventTime::Earliest();
  for (const Frame& frame : batch.frames) {
    for (const int64_t ns : frame.times) {
      const EventTime time = EventTime::FromNs(ns);
      if (!options_.check_append_time || time <= latest) newest = std::max(newest, time);
    }
  }
  if (newest == EventTime::Earliest()) return;
  if (source->promise != EventTime::Earliest()) {
    const EventTime before = source->promise + options_.liveness.foreign_lateness;
    if (newest > before) {
      source->silence.gaps.push_back(newest - before);
      if (source->silence.gaps.size() > 16) source->silence.gaps.pop_front();
    }
  }
  source->promise = std::max(source->promise, newest - options_.liveness.foreign_lateness);
}

void BatchReader::ReadEvents(const RecordPosition& at, const Batch& batch, bool believed,
                             Source* source) {
  // Events in a batch take effect at the batch's promise, because the source has sent all earlier
  // data by then. If the source's clock is ahead, the append time is used instead, because the
  // promise might never become due.
  const EventTime stamp = !believed                      ? EventTimeAt(at.append_time)
                          : batch.promise != EventTime() ? batch.promise
                                                         : source->newest_sample;
  uint32_t index = 0;
  ReadSteps(batch, stamp, believed, &index, source);
  for (const JobEvent& event : batch.events) {
    // The time must not exceed the source's own promise. If it did, the event would wait while the
    // source is live. For a source without promises or samples, the time is the append time of its
    // record.
    const EventTime latest = stamp == EventTime::Earliest() ? EventTimeAt(at.append_time) : stamp;
    ReadEvent(event, batch, std::min(event.time, latest), &index, source);
  }
}

void BatchReader::ReadSteps(const Batch& batch, EventTime stamp, bool believed, uint32_t* index,
                            Source* source) {
  std::vector<std::string> fresh;
  for (const std::string& mode : batch.info.step_modes) {
    const auto& known = source->info.step_modes;
    if (source->batches == 1 || std::find(known.begin(), known.end(), mode) == known.end())
      fresh.push_back(mode);
  }
  if (!believed) {
    // The samples and promises of this source do not count, so the source must not delay a step
    // clock. It announces its modes again after its clock has been corrected.
    source->info.step_modes.clear();
  } else if (!fresh.empty()) {
    source->info.step_modes = batch.info.step_modes;
    schedule_->AddRead(stamp, Phase::kEnd, *source, batch.sequence, (*index)++,
                       {.kind = TimelineEvent::Kind::kModes, .modes = fresh});
  }
  for (const StepPromise& promise : batch.step_promises) {
    if (!believed || promise.step > kMaxStep) {
      counters_->Count(believed ? Drop::kMalformed : Drop::kClockAhead);
      continue;
    }
    schedule_->AddRead(stamp, Phase::kEnd, *source, batch.sequence, (*index)++,
                       {.kind = TimelineEvent::Kind::kStepPromise,
                        .mode = promise.mode,
                        .step = Step(promise.step)});
  }
}

void BatchReader::ReadEvent(const JobEvent& event, const Batch& batch, EventTime time,
                            uint32_t* index, Source* source) {
  TimelineEvent::Kind kind = TimelineEvent::Kind::kJobNotice;
  Phase phase = Phase::kEnd;
  switch (event.kind) {
    case JobEvent::Kind::kStarted:
      kind = TimelineEvent::Kind::kJobStarted;
      phase = Phase::kBegin;
      break;
    case JobEvent::Kind::kEnded:
      kind = TimelineEvent::Kind::kJobEnded;
      break;
    case JobEvent::Kind::kNotice:
      phase = Phase::kBegin;
      break;
    case JobEvent::Kind::kRankLost: {
      kind = TimelineEvent::Kind::kRankLost;
      const RankLost& lost = event.rank_lost;
      // A rank that has sent its own goodbye sends no further data, and no clock waits for it.
      if (ReportedFailure(event) && lost.source == source->id && lost.boot_id == source->boot)
        break;
      if (!sources_->ReportLoss(*source, lost)) {
        counters_->Count(Drop::kMalformed);
        return;
      }
      // The loss is applied no earlier than the lost source's promise.
      time = std::max(time, sources_->Find(lost.source, lost.boot_id)->promise);
      break;
    }
    case JobEvent::Kind::kLauncherGone:
      kind = TimelineEvent::Kind::kLauncherGone;
      break;
  }
  schedule_->AddRead(time, phase, *source, batch.sequence, (*index)++,
                     {.kind = kind, .event = event});
}

}  // namespace pitwall::engine
