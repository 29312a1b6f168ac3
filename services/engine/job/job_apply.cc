// Applying: what the watermark has passed takes effect, in order of event time, with the rules'
// ticks in between.
#include <algorithm>

#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/engine/job/job.h"
#include "services/model/issues/job_end.h"
#include "services/model/value.h"

namespace pitwall::engine {

TickContext Job::ContextAt(int64_t position) const {
  return {.position = position, .time_ns = position, .step = kNoStep, .attempt = attempt_};
}

void Job::ApplyUpTo(int64_t to, EventSink* out) {
  std::vector<RowRef> rows;
  const std::vector<Source*> due = order_.WithRowsUpTo(to);
  for (Source* source : due) {
    for (PendingFrame& frame : source->pending) {
      while (frame.next < frame.times.size() && frame.times[frame.next] <= to) {
        rows.push_back({frame.times[frame.next], source, &frame, frame.next});
        ++frame.next;
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const RowRef& a, const RowRef& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.source != b.source) {
      if (const int c = a.source->id.compare(b.source->id); c != 0) return c < 0;
      return a.source->boot < b.source->boot;
    }
    if (a.frame->sequence != b.frame->sequence) return a.frame->sequence < b.frame->sequence;
    if (a.frame->index != b.frame->index) return a.frame->index < b.frame->index;
    return a.row < b.row;
  });

  size_t next_row = 0;
  while (!ended_) {
    const TimelineEventKey* first = timeline_.FirstUpTo(to);
    if (first == nullptr && next_row == rows.size()) break;
    // No happening has the phase of rows, so position and phase decide.
    const bool row_first =
        first == nullptr || (next_row < rows.size() && (rows[next_row].time != first->position
                                                            ? rows[next_row].time < first->position
                                                            : first->phase > Phase::kRow));
    if (row_first) {
      const RowRef& row = rows[next_row++];
      RunTicksBelow(row.time, out);
      last_activity_ = std::max(last_activity_, row.time);
      ApplyRow(row, out);
    } else {
      const auto [key, happening] = timeline_.TakeFirst();
      memory_.Set(PendingKind::kTimelineEvents, timeline_.bytes());
      RunTicksBelow(key.position, out);
      last_activity_ = std::max(last_activity_, key.position);
      Apply(key, happening, out);
    }
  }
  for (Source* source : due) {
    while (!source->pending.empty() &&
           source->pending.front().next == source->pending.front().times.size()) {
      memory_.Give(PendingKind::kSamples, HeldBytes(source->pending.front()));
      source->pending.pop_front();
    }
    order_.Update(source);
  }
  if (ended_) return;
  RunTicksBelow(to + 1, out);
  if (ended_) return;
  applied_ = to;
  if (to >= next_expiry_) {
    next_expiry_ = to + options_.expiry_interval_ns;
    if (time_ != nullptr) time_->Expire();
    for (const auto& domain : steps_) domain->Expire();
  }
}

void Job::RunTicksBelow(int64_t position, EventSink* out) {
  while (!ended_) {
    const int64_t tick = time_ != nullptr ? time_->NextTick() : kMaxPosition;
    const int64_t next = std::min(tick, next_step_judgement_);
    if (next >= position) return;
    const int64_t horizon = time_ != nullptr ? time_->QuietHorizon() : 0;
    if (last_activity_ != kMinPosition && next > last_activity_ + horizon &&
        position - next > horizon) {
      // Nothing has been heard for longer than anything in the rules can remember: each tick in
      // between would say the same. A clock that was an hour behind, or a long silence, must not
      // cost an hour of evaluations.
      if (time_ != nullptr) time_->SkipTo(position - 1);
      next_step_judgement_ =
          std::max(next_step_judgement_, FloorTo(position - 1, options_.step_status_interval_ns));
      if (std::min(time_ != nullptr ? time_->NextTick() : kMaxPosition, next_step_judgement_) >=
          position)
        return;
      last_activity_ = position - 1;
      continue;
    }
    if (tick <= next_step_judgement_) {
      WriteFailureSeries(tick);
      RepeatOwnSeries(tick);
      const size_t first_event = out->events.size();
      time_->Evaluate(ContextAt(tick), identity_, out);
      JoinIncidents(first_event, out);
    } else {
      JudgeStepRules(next_step_judgement_, out);
      next_step_judgement_ += options_.step_status_interval_ns;
    }
  }
}

void Job::Bind(const Schema& schema, ClockDomain* domain, BoundColumns* columns) {
  columns->Release();
  columns->ids.clear();
  window::SeriesStore& store = *domain->store();
  for (const SeriesDescriptor& series : schema.series) {
    auto id = store.Intern(series.labels);
    CountUnknown(id.status());
    columns->ids.push_back(id.ok() ? *id : window::SeriesStore::kUnwanted);
  }
  auto plan = store.Plan(columns->ids);
  PITWALL_CHECK(plan.ok());  // every id comes from this store
  columns->plan = *plan;
  columns->store = domain->store();
  columns->generation = bindings_generation_;
}

const BoundColumns& Job::TimeColumns(Binding* binding) {
  if (binding->time.generation != bindings_generation_)
    Bind(binding->schema, time_.get(), &binding->time);
  return binding->time;
}

const BoundColumns& Job::StepColumns(Binding* binding, ClockDomain* domain) {
  std::unique_ptr<BoundColumns>& columns = binding->steps[domain->clock().mode];
  if (columns == nullptr) columns = std::make_unique<BoundColumns>();
  if (columns->generation != bindings_generation_ || columns->clock != domain->clock_id()) {
    Bind(binding->schema, domain, columns.get());
    columns->clock = domain->clock_id();
  }
  return *columns;
}

// The reasons are fixed texts: each new one is a status event of every rule.
void Job::CountUnknown(const Status& interned) {
  if (interned.ok()) return;
  counters_->Count(Drop::kLimit);
  identity_.limit_reason =
      interned.code() == absl::StatusCode::kOutOfRange
          ? Cat("more than ", FormatBytes(static_cast<double>(window::Limits().max_label_bytes)),
                " of labels")
          : Cat("more than ", options_.max_series_per_job, " series");
}

void Job::CountRefused(const Status& appended, size_t samples, std::string_view waiting) {
  if (appended.ok()) return;
  if (!absl::IsResourceExhausted(appended)) {
    counters_->Count(Drop::kLate, samples);
    return;
  }
  counters_->Count(Drop::kLimit, samples);
  identity_.limit_reason = Cat("more than ", options_.max_job_bytes / 4 >> 20, " MiB of ", waiting,
                               ": what came later was refused");
}

void Job::ApplyRow(const RowRef& ref, EventSink* out) {
  Source* source = ref.source;
  PendingFrame* frame = ref.frame;
  const size_t columns = frame->columns();
  if (ref.time >= source->ended_at) {
    counters_->Count(Drop::kZombie, columns);
    return;
  }
  const int64_t step = frame->steps.empty() ? kNoStep : frame->steps[ref.row];
  if (step != kNoStep && !source->attempt.has_value()) {
    // A rank belongs to the attempt in which it finished its first step.
    const bool restart = started_ && !attempt_open_ && !source->info.attempt.has_value();
    if (!started_ || (restart && source->here)) {
      // Rank 0 joins it, should it be heard of later.
      BeginAttempt(source->info.attempt.value_or(started_ ? attempt_ + 1 : next_attempt_), ref.time,
                   *source, out);
    }
    source->attempt = source->info.attempt.value_or(attempt_);
    if (source->here) JoinAttempt(*source, ref.time, out);
    if (*source->attempt < attempt_) EndSource(source, ref.time);
    if (ref.time >= source->ended_at) {
      counters_->Count(Drop::kZombie, columns);
      return;
    }
  }
  Binding* binding = frame->binding.get();
  const std::span<const double> values(frame->values.data() + ref.row * columns, columns);

  // A series that the stream's schema no longer has ends at the first tick of the new one.
  auto [stream, first] = source->streams.try_emplace(binding->schema.stream, binding->schema.id);
  if (!first && stream->second != binding->schema.id) {
    const auto old = source->schemas.find(stream->second);
    stream->second = binding->schema.id;
    if (old != source->schemas.end() && time_ != nullptr) {
      std::vector<window::SeriesId> kept = TimeColumns(binding).ids;
      std::sort(kept.begin(), kept.end());
      std::vector<window::SeriesId> vanished;
      for (const window::SeriesId id : TimeColumns(old->second.get()).ids) {
        if (!std::binary_search(kept.begin(), kept.end(), id)) vanished.push_back(id);
      }
      if (!vanished.empty()) {
        CountRefused(
            time_->store()->AppendStale(
                {ref.time, source->id, source->boot, frame->sequence, frame->index}, vanished),
            vanished.size());
      }
    }
  }
  if (time_ != nullptr) {
    const window::RowKey key{ref.time, source->id, source->boot, frame->sequence,
                             static_cast<uint32_t>(ref.row)};
    CountRefused(time_->store()->Append(key, TimeColumns(binding).plan, values), columns);
  }
  if (step != kNoStep) ApplyStep(ref, step, out);
}

void Job::Apply(const TimelineEventKey& key, const TimelineEvent& happening, EventSink* out) {
  const auto found = sources_.find({key.source, key.boot});
  Source* source = found == sources_.end() ? nullptr : found->second.get();
  const JobEvent& event = happening.event;
  switch (happening.kind) {
    case TimelineEvent::Kind::kBoot:
      if (source == nullptr) break;
      ApplyBoot(key, source, out);
      RankJoined(source, key.position, out);
      break;
    case TimelineEvent::Kind::kModes:
      if (source == nullptr || key.position >= source->ended_at) break;
      for (const std::string& mode : happening.modes) {
        if (!TakeMode(*source, mode)) continue;
        StepProgress& progress = source->steps[mode];
        progress.announced = true;
        if (const ClockDomain* domain = steps_.Find(mode, progress.clock); domain != nullptr)
          progress.reached = domain->step_times().count();
      }
      source->step_live = true;
      order_.UpdateSteps(source);
      break;
    case TimelineEvent::Kind::kStepPromise:
      if (source == nullptr || key.position >= source->ended_at) break;
      PromiseStep(source, happening.mode, happening.step, key.position, out);
      break;
    case TimelineEvent::Kind::kLeave:
    case TimelineEvent::Kind::kGoodbye:
      // It may have come back since: what it sent meanwhile is newer than the marker.
      if (source == nullptr || key.position >= source->ended_at) break;
      MarkStale(*source, key.position);
      source->step_live = false;
      order_.UpdateSteps(source);
      AdvanceStepsWithout(*source, happening.kind == TimelineEvent::Kind::kGoodbye, key.position,
                          out);
      if (happening.kind == TimelineEvent::Kind::kLeave) break;
      RankLeft(source);
      DieWithoutRanks(key.position, out);
      break;
    case TimelineEvent::Kind::kRankLost:
      ApplyRankLost(key, event, out);
      break;
    case TimelineEvent::Kind::kLauncherGone:
      ApplyLauncherGone(key, source, out);
      break;
    case TimelineEvent::Kind::kGraceOver:
      ApplyGraceOver(key, out);
      break;
    case TimelineEvent::Kind::kJobStarted: {
      if (!event.name.empty()) identity_.name = event.name;
      if (!(event.reference == JobReference{})) identity_.reference = event.reference;
      MergeLabels(event.labels);
      // A name or a label may bring overrides that take another variant of the program.
      if (rules_ != nullptr && rules_->ProgramFor(identity_) != program_) SetRules(rules_, out);
      SetParameters();
      ChangeBaselines(key.position);
      EmitStarted(key.position, out);
      break;
    }
    case TimelineEvent::Kind::kJobEnded:
      ApplyJobEnded(key, event, out);
      break;
    case TimelineEvent::Kind::kJobNotice:
      if (event.reason == kStopping) deaths_.AnnounceStop(key.position, StoppedByOf(event));
      if (event.reason == kStopRefused) deaths_.WithdrawStop();
      if (const auto end = PlatformEndOf(event)) {
        if (*end == PlatformEnd{}) {
          deaths_.ExpectPlatform();  // nothing yet: it will be told
        } else {
          OnPlatformReport(key.position, *end);
        }
      }
      for (const std::string& name : event.series) {
        if (identity_.withheld.size() < options_.max_withheld_per_job ||
            identity_.withheld.contains(name)) {
          identity_.withheld[name] = event.reason;
        } else {
          counters_->Count(Drop::kLimit);
        }
      }
      if (event.series.empty()) {
        std::erase_if(identity_.withheld,
                      [&](const auto& entry) { return entry.second == event.reason; });
      }
      break;
  }
}

// What one rank or node does not say another may have said; of what both say the newer counts.
void Job::MergeLabels(const std::vector<Label>& labels) {
  for (const Label& label : labels) {
    const auto known = std::find_if(identity_.labels.begin(), identity_.labels.end(),
                                    [&](const Label& other) { return other.name == label.name; });
    if (known != identity_.labels.end()) {
      known->value = label.value;
    } else if (identity_.labels.size() < options_.max_labels_per_job) {
      identity_.labels.push_back(label);
    }
  }
  std::sort(identity_.labels.begin(), identity_.labels.end());
}

void Job::MarkStale(const Source& source, int64_t position) {
  for (const auto& [stream, schema_id] : source.streams) {
    const auto found = source.schemas.find(schema_id);
    if (found == source.schemas.end()) continue;
    Binding* binding = found->second.get();
    const window::RowKey key{position, source.id, source.boot, UINT64_MAX, stream};
    if (time_ != nullptr) {
      const auto& ids = TimeColumns(binding).ids;
      CountRefused(time_->store()->AppendStale(key, ids), ids.size());
    }
  }
  for (const auto& [mode, progress] : source.steps) MarkStepsStale(source, mode);
}

// At the step after the last one that the source has logged.
void Job::MarkStepsStale(const Source& source, const std::string& mode) {
  const StepProgress& progress = source.steps.at(mode);
  ClockDomain* domain = steps_.Find(mode, progress.clock);
  if (domain == nullptr || progress.last == kNoStep) return;
  const int64_t position = std::max(StepPosition(progress.last + 1), domain->watermark + 1);
  for (const auto& [stream, schema_id] : source.streams) {
    const auto found = source.schemas.find(schema_id);
    if (found == source.schemas.end() || !found->second->steps.contains(mode)) continue;
    const auto& ids = StepColumns(found->second.get(), domain).ids;
    CountRefused(
        domain->store()->AppendStale({position, source.id, source.boot, UINT64_MAX, stream}, ids),
        ids.size());
  }
}

// The engine's own view of a source, as a series that rules can read:
// pitwall_source_flagged{source,reason} is 1 while it holds.
void Job::FlagSource(Source* source, std::string_view reason, bool on) {
  Flag(source->id, source->info.node, reason, on);
}

void Job::Flag(std::string_view source, std::string_view node, std::string_view reason, bool on) {
  const Labels labels({{kMetricName, "pitwall_source_flagged"},
                       {"source", source},
                       {"node", node},
                       {"reason", reason}});
  if (on) {
    own_series_[labels] = 1;
  } else if (own_series_.erase(labels) == 0) {
    return;
  }
  if (watermark_ == kMinPosition) return;  // the first tick brings it
  // Never twice at one position: the second would be dropped.
  own_series_at_ = std::max(watermark_, own_series_at_) + 1;
  WriteOwnSeries(time_.get(), own_series_at_, labels, on ? 1 : StaleMarker());
}

// Which attempt runs, and how many have begun: from event time `at` on, whenever that became known.
void Job::CountAttempt(int64_t at) {
  own_series_[Labels({{kMetricName, "pitwall_job_attempt"}})] = static_cast<double>(attempt_);
  own_series_[Labels({{kMetricName, "pitwall_job_attempts_begun_total"}})] += 1;
  own_series_[Labels({{kMetricName, AttemptFailures::kCount}})] = 0;
  own_series_at_ = std::max(at, own_series_at_ + 1);
  for (const auto& [labels, value] : own_series_)
    WriteOwnSeries(time_.get(), own_series_at_, labels, value);
}

void Job::RepeatOwnSeries(int64_t upto) {
  if ((own_series_.empty() && baselines_.empty()) || time_ == nullptr) return;
  // No window looks further back than the horizon: a long silence costs no more.
  int64_t at = own_series_at_ == kMinPosition
                   ? upto
                   : NextAfter(std::max(own_series_at_, upto - time_->QuietHorizon()),
                               options_.own_series_repeat_ns);
  for (; at <= upto; at += options_.own_series_repeat_ns) {
    own_series_at_ = at;
    for (const auto& [labels, value] : own_series_) WriteOwnSeries(time_.get(), at, labels, value);
    WriteBaselineRow(time_.get(), at);
  }
}

void Job::WriteOwnSeries(ClockDomain* domain, int64_t position, const Labels& labels,
                         double value) {
  if (domain == nullptr) return;
  const auto id = domain->store()->Intern(labels);
  CountUnknown(id.status());
  if (!id.ok()) return;
  const window::SeriesId ids[] = {*id};
  const double values[] = {value};
  CountRefused(domain->store()->Append({position, kOwnSource, "", 0, 0}, ids, values), 1);
}

}  // namespace pitwall::engine
