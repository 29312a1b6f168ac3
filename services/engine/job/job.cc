// Reading: what a record says goes into sources and timeline, and may move the watermark.
#include "services/engine/job/job.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::engine {
namespace {
constexpr std::string_view kOtherOwner = "other_owner";
}  // namespace

Job::Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
         EngineCounters* counters)
    : rules_(std::move(rules)),
      options_(options),
      counters_(counters),
      memory_(options.max_job_bytes / 2),
      incidents_(options, counters) {
  identity_.id = std::move(id);
  BuildRunners();
}

Job::~Job() = default;

Source* Job::FindOrAddSource(const Batch& batch, EventSink*) {
  const SourceKey key(batch.source, batch.boot_id);
  if (const auto it = sources_.find(key); it != sources_.end()) return it->second.get();
  if (sources_.size() >= options_.max_sources_per_job) {
    counters_->Count(Drop::kLimit);
    identity_.limit_reason = Cat("more than ", options_.max_sources_per_job, " sources");
    return nullptr;
  }
  auto source = std::make_unique<Source>();
  source->id = batch.source;
  source->boot = batch.boot_id;
  source->info = batch.info;
  if (!memory_.Take(PendingKind::kSources, HeldBytes(*source))) {
    RefuseForMemory(1);
    return nullptr;
  }
  Source* added = source.get();
  sources_.emplace(key, std::move(source));
  rank_boots_.Add(added);
  if (!added->IsForeign()) {
    // Clamped like everything that comes late: what lies at or before the watermark has been
    // judged.
    Schedule(added->info.start_ns, Phase::kBegin, *added, 0, 0,
             {.kind = TimelineEvent::Kind::kBoot});
  }
  return added;
}

void Job::Schedule(int64_t position, Phase phase, const Source& source, uint64_t sequence,
                   uint32_t index, TimelineEvent happening) {
  if (passed() != kMinPosition) position = std::max(position, passed() + 1);
  timeline_.Add({position, phase, source.id, source.boot, sequence, index}, std::move(happening));
  memory_.Set(PendingKind::kTimelineEvents, timeline_.bytes());
}

bool Job::TakeOwner(const Batch& batch) {
  if (owner_.Judge(batch, ended_) == JobOwner::Verdict::kOurs) {
    owner_.Adopt(batch);
    identity_.owner = owner_.text();
    return true;
  }
  counters_->Count(Drop::kOtherOwner);
  if (!ended_ && owner_.Refuse(batch)) Flag(batch.source, batch.info.node, kOtherOwner, true);
  return false;
}

void Job::Displace(EventSink* out) {
  ++counters_->displaced_jobs;
  if (!ended_ && watermark_ != kMinPosition)
    EndJob(watermark_, EndDetail::kCancelled, /*by_event=*/false, out);
  Forget();
}

void Job::OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw,
                  EventSink* out) {
  ++counters_->batches;
  if (!TakeOwner(batch)) return;
  last_append_ns_ = std::max(last_append_ns_, at.append_time_ns);
  if (ended_) {
    if (!ResumesWith(batch)) {
      counters_->Count(Drop::kJobEnded);
      AmendEnd(at, batch, out);
      return;
    }
    GoOn();
  }
  Source* source = FindOrAddSource(batch, out);
  if (source == nullptr) return;
  if (!source->Accept(batch, *counters_)) {
    counters_->Count(Drop::kDuplicate);
    return;
  }
  source->Heard();
  ++source->batches;
  for (const Schema& schema : batch.schemas) {
    if (!source->AddSchema(schema, options_, &memory_)) RefuseForMemory(1);
  }
  if (!batch.schemas.empty()) ReleaseWaiting(source);
  ReadFrames(at, batch, raw, source, out);
  const bool believed = ReadPromise(at, batch, source);
  ReadTimelineEvents(at, batch, believed, source);

  source->goodbye = source->goodbye || batch.goodbye;
  if (source->behind && order_.NewestPromise() - source->promise <= options_.clock_behind_ns) {
    source->behind = false;
    source->trailing_ns = 0;
    FlagSource(source, "clock_behind", false);
  }
  source->live =
      source->promise != kMinPosition && !source->behind && source->promise < source->ended_at;
  order_.Update(source);
  const int64_t least = order_.LeastPromise();
  // It takes part one last time, with its last promise.
  if (source->goodbye) Leave(source, TimelineEvent::Kind::kGoodbye);
  if (source->loss_reported) source->live = false;
  order_.Update(source);
  Advance(least, out);
  last_frame_watermark_ = watermark_;
}

void Job::ReadFrames(const RecordPosition& at, const Batch& batch, std::string_view raw,
                     Source* source, EventSink* out) {
  const int64_t latest =
      options_.check_append_time ? at.append_time_ns + options_.clock_ahead_ns : kMaxPosition;
  bool ahead = false;
  uint32_t index = 0;
  for (const Frame& frame : batch.frames) {
    const uint32_t frame_index = index++;
    if (frame.times_ns.empty()) continue;
    const size_t columns = frame.values.size() / frame.times_ns.size();
    const auto schema = source->schemas.find(frame.schema_id);
    const bool known = schema != source->schemas.end();
    if (frame.values.size() % frame.times_ns.size() != 0 ||
        (known && columns != schema->second->schema.series.size())) {
      counters_->Count(Drop::kMalformed);
      out->AddDeadLetter(batch.source, raw,
                         Cat("frame has ", frame.values.size(), " values for ",
                             frame.times_ns.size(), " ticks, which its schema does not fit"),
                         at.offset);
      continue;
    }
    if (const auto bad = std::find_if(
            frame.steps.begin(), frame.steps.end(),
            [](int64_t step) { return step != kNoStep && (step < 0 || step > kMaxStep); });
        bad != frame.steps.end()) {
      counters_->Count(Drop::kMalformed);
      out->AddDeadLetter(batch.source, raw, Cat("step ", *bad, " is not in 0..", kMaxStep),
                         at.offset);
      continue;
    }
    PendingFrame pending;
    pending.schema_id = frame.schema_id;
    pending.sequence = batch.sequence;
    pending.offset = at.offset;
    pending.index = frame_index;
    pending.mode = frame.mode;
    pending.values.reserve(frame.values.size());
    for (size_t row = 0; row < frame.times_ns.size(); ++row) {
      const int64_t time = frame.times_ns[row];
      if (time <= passed()) {
        counters_->Count(Drop::kLate, columns);
        continue;
      }
      if (time > latest) {
        counters_->Count(Drop::kClockAhead, columns);
        ahead = true;
        continue;
      }
      pending.times.push_back(time);
      if (!frame.steps.empty()) pending.steps.push_back(frame.steps[row]);
      const auto values = frame.values.subspan(row * columns, columns);
      pending.values.insert(pending.values.end(), values.begin(), values.end());
    }
    if (pending.times.empty()) continue;
    if (!known && source->waiting.size() >= options_.max_waiting_batches_per_source) {
      counters_->Count(Drop::kUnknownSchema);
      out->AddDeadLetter(batch.source, raw, "unknown schema; too many frames wait for theirs",
                         at.offset);
      continue;
    }
    if (!memory_.Take(PendingKind::kSamples, HeldBytes(pending))) {
      RefuseForMemory(pending.values.size());
      continue;
    }
    if (!known) {
      source->waiting.push_back(std::move(pending));
      continue;
    }
    schema->second->last_used = source->batches;
    pending.binding = schema->second;
    source->newest_sample = std::max(source->newest_sample, pending.times.back());
    counters_->samples += pending.values.size();
    source->pending.push_back(std::move(pending));
  }
  if (ahead != source->ahead && !batch.frames.empty()) {
    source->ahead = ahead;
    FlagSource(source, "clock_ahead", ahead);
  }
}

void Job::ReleaseWaiting(Source* source) {
  for (auto it = source->waiting.begin(); it != source->waiting.end();) {
    const auto schema = source->schemas.find(it->schema_id);
    if (schema == source->schemas.end()) {
      ++it;
      continue;
    }
    if (it->columns() == schema->second->schema.series.size()) {
      it->binding = schema->second;
      // While it waited its source may have gone idle, and the watermark on: those rows are late.
      while (it->next < it->times.size() && it->times[it->next] <= passed()) ++it->next;
      const size_t late = it->next * it->columns();
      counters_->Count(Drop::kLate, late);
      counters_->samples += it->values.size() - late;
      if (it->next == it->times.size()) {
        memory_.Give(PendingKind::kSamples, HeldBytes(*it));
      } else {
        source->newest_sample = std::max(source->newest_sample, it->times.back());
        source->pending.push_back(std::move(*it));
      }
    } else {
      counters_->Count(Drop::kMalformed);
      memory_.Give(PendingKind::kSamples, HeldBytes(*it));
    }
    it = source->waiting.erase(it);
  }
}

void Job::DropWaiting(Source* source, int64_t elapsed_ns, EventSink* out) {
  while (!source->waiting.empty()) {
    for (PendingFrame& frame : source->waiting) frame.waited_ns += elapsed_ns;
    elapsed_ns = 0;
    const PendingFrame& oldest = source->waiting.front();
    if (oldest.waited_ns <= options_.schema_wait_ns) return;
    counters_->Count(Drop::kUnknownSchema);
    memory_.Give(PendingKind::kSamples, HeldBytes(oldest));
    BinaryWriter bytes;
    bytes.Doubles(oldest.values);
    out->AddDeadLetter(
        source->id, bytes.Take(),
        Cat("descriptors of schema ", oldest.schema_id, " never came (batch ", oldest.sequence,
            ", boot ", source->boot, "); the value holds the frame's raw doubles"),
        oldest.offset);
    source->waiting.pop_front();
  }
}

bool Job::ReadPromise(const RecordPosition& at, const Batch& batch, Source* source) {
  if (source->IsForeign()) {
    int64_t newest = kMinPosition;
    for (const Frame& frame : batch.frames) {
      for (const int64_t time : frame.times_ns) {
        if (!options_.check_append_time || time <= at.append_time_ns + options_.clock_ahead_ns) {
          newest = std::max(newest, time);
        }
      }
    }
    if (newest == kMinPosition) return true;
    const int64_t before = source->promise == kMinPosition
                               ? kMinPosition
                               : source->promise + options_.foreign_lateness_ns;
    if (before != kMinPosition && newest > before) {
      source->gaps.push_back(newest - before);
      if (source->gaps.size() > 16) source->gaps.pop_front();
    }
    source->promise = std::max(source->promise, newest - options_.foreign_lateness_ns);
    return true;
  }
  if (batch.promise_ns == 0) return true;
  if (options_.check_append_time &&
      batch.promise_ns > at.append_time_ns + options_.clock_ahead_ns) {
    counters_->Count(Drop::kClockAhead);
    if (!source->ahead) {
      source->ahead = true;
      FlagSource(source, "clock_ahead", true);
    }
    return false;
  }
  source->promise = std::max(source->promise, batch.promise_ns);
  return true;
}

void Job::ReadTimelineEvents(const RecordPosition& at, const Batch& batch, bool believed,
                             Source* source) {
  // What a batch says about itself holds from its promise on: everything before it has been sent by
  // then. A promise from a wrong clock would never come due.
  const int64_t stamp = !believed               ? at.append_time_ns
                        : batch.promise_ns != 0 ? batch.promise_ns
                                                : source->newest_sample;
  uint32_t index = 0;
  std::vector<std::string> fresh;
  for (const std::string& mode : batch.info.step_modes) {
    const auto& known = source->info.step_modes;
    if (source->batches == 1 || std::find(known.begin(), known.end(), mode) == known.end())
      fresh.push_back(mode);
  }
  if (!believed) {
    // None of its samples and promises count, so it must hold no step clock. It announces its modes
    // again once its clock is right.
    source->info.step_modes.clear();
  } else if (!fresh.empty()) {
    source->info.step_modes = batch.info.step_modes;
    ScheduleRead(stamp, Phase::kEnd, *source, batch.sequence, index++,
                 {.kind = TimelineEvent::Kind::kModes, .modes = fresh});
  }
  for (const StepPromise& promise : batch.step_promises) {
    if (!believed || promise.step > kMaxStep) {
      counters_->Count(believed ? Drop::kMalformed : Drop::kClockAhead);
      continue;
    }
    ScheduleRead(
        stamp, Phase::kEnd, *source, batch.sequence, index++,
        {.kind = TimelineEvent::Kind::kStepPromise, .mode = promise.mode, .step = promise.step});
  }
  for (const JobEvent& event : batch.events) {
    // Never beyond what the source itself promises: else nothing of it would come true while the
    // source is live. Who promises nothing and measures nothing has the time of its record.
    int64_t position = std::min(event.time_ns, stamp == kMinPosition ? at.append_time_ns : stamp);
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
        // Of one that said goodbye itself nothing more is to be heard or waited for.
        if (ReportedFailure(event) && event.rank_lost.source == source->id &&
            event.rank_lost.boot_id == source->boot)
          break;
        if (!HearRankLost(*source, event.rank_lost)) {
          counters_->Count(Drop::kMalformed);
          continue;
        }
        // After everything that it has promised.
        const Source& lost = *sources_.at({event.rank_lost.source, event.rank_lost.boot_id});
        position = std::max(position, lost.promise);
        break;
      }
      case JobEvent::Kind::kLauncherGone:
        kind = TimelineEvent::Kind::kLauncherGone;
        break;
    }
    ScheduleRead(position, phase, *source, batch.sequence, index++, {.kind = kind, .event = event});
  }
}

// Out of the watermark; its series end 1 ns after the last thing it said. `kind`: kLeave or
// kGoodbye.
void Job::Leave(Source* source, TimelineEvent::Kind kind) {
  source->live = false;
  order_.Update(source);
  const int64_t last = std::max(source->promise, source->newest_sample);
  if (last == kMinPosition) return;
  Schedule(last + 1, Phase::kEnd, *source, source->window.highest(), UINT32_MAX, {.kind = kind});
}

size_t Job::live_sources() const {
  return static_cast<size_t>(std::count_if(sources_.begin(), sources_.end(),
                                           [](const auto& entry) { return entry.second->live; }));
}

void Job::OnTick(int64_t elapsed_ns, EventSink* out) {
  log_time_ns_ += elapsed_ns;
  if (ended_) {
    tombstone_age_ns_ += elapsed_ns;
    gone_ = tombstone_age_ns_ > options_.tombstone_ns;
    return;
  }
  for (const auto& [source, node] : owner_.Tick(elapsed_ns)) Flag(source, node, kOtherOwner, false);
  const int64_t newest = order_.NewestPromise();
  for (auto& [key, entry] : sources_) {
    Source* source = entry.get();
    if (!source->waiting.empty()) {
      DropWaiting(source, elapsed_ns, out);
      order_.Update(source);
    }
    if (source->Tick(elapsed_ns, options_)) {
      Leave(source, TimelineEvent::Kind::kLeave);
      continue;
    }
    if (!source->live) continue;
    source->trailing_ns =
        newest - source->promise > options_.clock_behind_ns ? source->trailing_ns + elapsed_ns : 0;
    if (source->trailing_ns >= options_.clock_behind_ns) {
      source->behind = true;
      Leave(source, TimelineEvent::Kind::kLeave);
      FlagSource(source, "clock_behind", true);
    }
  }
  if (watermark_ != kMinPosition) TellSilentNodes();
  const int64_t least = order_.LeastPromise();
  if (least != kMinPosition) {
    Advance(least, out);
  } else if (watermark_ == kMinPosition) {
    // Nobody whose clock can be believed: the log's own says when the job's time begins, so that it
    // is judged, as blind.
    blind_ns_ += elapsed_ns;
    if (blind_ns_ > options_.idle_after_ns && options_.check_append_time)
      Advance(last_append_ns_, out);
  } else {
    Advance(watermark_ + elapsed_ns, out);
    if (!ended_ && watermark_ - last_frame_watermark_ >= options_.silence_ns) {
      EndJob(watermark_, EndDetail::kSilent, /*by_event=*/false, out);
      Forget();
    }
  }
  if (!ended_) PruneSources(out);
}

// A source that was silent for as long as a job may be is forgotten; of the ended boots of one
// source only the newest few are kept, for their sequence numbers.
void Job::PruneSources(EventSink* out) {
  const auto settled = [](const Source& s) {
    return !s.live && s.pending.empty() && s.waiting.empty();
  };
  std::vector<const Source*> ended;  // boots of one source
  std::vector<SourceKey> gone;
  const auto prune_boots = [&] {
    if (ended.size() > options_.max_ended_boots_per_source) {
      std::sort(ended.begin(), ended.end(), [](const Source* a, const Source* b) {
        return std::pair(a->info.start_ns, std::string_view(a->boot)) >
               std::pair(b->info.start_ns, std::string_view(b->boot));
      });
      for (size_t i = options_.max_ended_boots_per_source; i < ended.size(); ++i)
        gone.emplace_back(ended[i]->id, ended[i]->boot);
    }
    ended.clear();
  };
  for (const auto& [key, source] : sources_) {
    if (!ended.empty() && ended.back()->id != source->id) prune_boots();
    if (!settled(*source)) continue;
    if (source->idle_ns > options_.silence_ns) {
      gone.push_back(key);
    } else if (source->goodbye || source->ended_at != kMaxPosition) {
      ended.push_back(source.get());
    }
  }
  prune_boots();
  for (const SourceKey& key : gone) {
    RankLeft(sources_.at(key).get());
    order_.Remove(sources_.at(key).get());
    rank_boots_.Remove(sources_.at(key).get());
    GiveBack(*sources_.at(key));
    sources_.erase(key);
  }
  if (gone.empty() || watermark_ == kMinPosition) return;
  // A rank that has been silent for so long is no longer there.
  DieWithoutRanks(watermark_, out);
  if (ended_) Forget();
}

void Job::Advance(int64_t to, EventSink* out) {
  if (ended_ || gone_ || to == kMinPosition || to <= passed()) return;
  if (watermark_ == kMinPosition) {
    origin_ = FloorTo(to, kNanosPerSecond);
    if (time_ != nullptr) time_->SetOrigin(origin_);
    next_step_judgement_ = NextAfter(to - 1, options_.step_status_interval_ns);
  }
  watermark_ = to;
  ApplyUpTo(to, out);
  EmitStarted(to, out);
  if (ended_) Forget();
}

void Job::FinishInput(bool end_job, EventSink* out) {
  int64_t last = watermark_;
  for (const auto& [key, source] : sources_) {
    last = std::max({last, source->newest_sample, source->promise});
  }
  if (last == kMinPosition) return;
  Advance(last, out);
  if (end_job && !ended_) {
    EndJob(watermark_, EndDetail::kCompleted, /*by_event=*/true, out);
    Forget();
  }
}

}  // namespace pitwall::engine
