// Rules in force and snapshots of a job.
#include <algorithm>
#include <span>
#include <utility>

#include "services/base/text/strings.h"
#include "services/engine/job/job.h"

namespace pitwall::engine {

void Job::BuildRunners() {
  time_.reset();
  steps_.Clear();
  program_ = rules_ == nullptr ? nullptr : rules_->ProgramFor(identity_);
  const plan::ProgramPtr& program = program_;
  incidents_.SetProgram(program.get());
  if (program == nullptr) return;
  for (size_t i = 0; i < program->domains.size(); ++i) {
    auto runner = std::make_unique<ClockDomain>(program, i, options_, counters_);
    if (runner->clock().step) {
      steps_.AddShared(std::move(runner));
    } else {
      time_ = std::move(runner);
    }
  }
  SetParameters();
  ChangeBaselines(watermark_);
  ObserveRecordings();
  if (history_lost_) LoseHistory();
}

void Job::LoseHistory() {
  history_lost_ = true;
  if (time_ != nullptr) time_->LoseHistory();
  for (const auto& domain : steps_) domain->LoseHistory();
}

bool Job::history_lost() const {
  return history_lost_ && ((time_ != nullptr && time_->history_lost()) ||
                           std::any_of(steps_.begin(), steps_.end(),
                                       [](const auto& domain) { return domain->history_lost(); }));
}

std::vector<RuleStatusNow> Job::Statuses() const {
  std::vector<RuleStatusNow> all;
  if (time_ != nullptr) all = time_->Statuses();
  for (const auto& domain : steps_) {
    if (!domain->is_shared()) continue;
    for (const RuleStatusNow& status : domain->Statuses()) all.push_back(status);
  }
  return all;
}

void Job::DropAlerts() {
  if (ended_ || watermark_ == kMinPosition) return;
  EventSink unsaid;
  const TickContext at = ContextAt(watermark_);
  if (time_ != nullptr) time_->EndAll(EndReason::kNoData, false, at, identity_, &unsaid);
  for (const auto& domain : steps_) {
    domain->EndAll(EndReason::kNoData, false, StepContext(*domain, at), identity_, &unsaid);
  }
  JoinIncidents(0, &unsaid);
}

void Job::SetParameters() {
  if (rules_ == nullptr) return;
  if (time_ != nullptr)
    time_->SetParameters(rules_->ParametersFor(time_->domain_index(), identity_));
  for (const auto& domain : steps_)
    domain->SetParameters(rules_->ParametersFor(domain->domain_index(), identity_));
}

void Job::SetRules(CompiledRulesPtr rules, EventSink* out) {
  rules_ = std::move(rules);
  if (ended_) return;
  ++bindings_generation_;
  if (watermark_ == kMinPosition) {
    BuildRunners();
    return;
  }
  [[maybe_unused]] const plan::ProgramPtr before =
      std::exchange(program_, rules_->ProgramFor(identity_));
  const plan::ProgramPtr& program = program_;
  const size_t first_event = out->events.size();
  const TickContext at = ContextAt(watermark_);
  std::unique_ptr<ClockDomain> time;
  for (size_t i = 0; program != nullptr && i < program->domains.size(); ++i) {
    if (program->domains[i].demands.clock.step) continue;
    if (time_ != nullptr) {
      time = std::move(time_);
      time->Replace(program, i, at, identity_, out);
    } else {
      time = std::make_unique<ClockDomain>(program, i, options_, counters_);
      time->SetOrigin(origin_, watermark_);
    }
  }
  if (time_ != nullptr) time_->Remove(at, identity_, out);
  time_ = std::move(time);
  ReplaceStepRules(at, out);
  ChangeBaselines(watermark_);
  baseline_columns_.clear();      // of domains that may be gone
  own_series_at_ = kMinPosition;  // another rule may want them
  SetParameters();
  ObserveRecordings();
  incidents_.SetProgram(program.get());
  JoinIncidents(first_event, out);
}

// A step clock whose mode still has rules keeps its state; every other one ends.
void Job::ReplaceStepRules(const TickContext& at, EventSink* out) {
  StepClocks::Runners before = steps_.Release();
  const auto domain_of = [&](const ClockSpec& clock) {
    size_t i = 0;
    while (i < program_->domains.size() && program_->domains[i].demands.clock != clock) ++i;
    return i;
  };
  const size_t domains = program_ == nullptr ? 0 : program_->domains.size();
  for (auto& runner : before) {
    const size_t domain = program_ == nullptr ? 0 : domain_of(runner->clock());
    if (domain < domains) {
      runner->Replace(program_, domain, StepContext(*runner, at), identity_, out);
    } else {
      runner->Remove(StepContext(*runner, at), identity_, out);
      runner.reset();
    }
  }
  for (size_t i = 0; i < domains; ++i) {
    const ClockSpec& clock = program_->domains[i].demands.clock;
    if (!clock.step) continue;
    const auto kept = std::find_if(before.begin(), before.end(), [&](const auto& runner) {
      return runner != nullptr && runner->is_shared() && runner->clock() == clock;
    });
    steps_.AddShared(kept != before.end()
                         ? std::move(*kept)
                         : std::make_unique<ClockDomain>(program_, i, options_, counters_));
  }
  for (auto& runner : before) {
    if (runner != nullptr) steps_.AddSeparate(std::move(runner));
  }
}

void Job::JoinIncidents(size_t first, EventSink* out) {
  const std::span<IssueEvent> events = std::span(out->events).subspan(first);
  std::optional<StringMap<std::string>> nodes;
  const auto nodes_of = [&]() -> const StringMap<std::string>& {
    if (!nodes.has_value()) nodes = NodesOfRanks();
    return *nodes;
  };
  for (const IncidentTracker::RootCauseChange& change : incidents_.Apply(events, nodes_of)) {
    if (time_ != nullptr && time_->SetRootCause(change)) continue;
    for (const auto& domain : steps_) {
      if (domain->SetRootCause(change)) break;
    }
  }
}

StringMap<std::string> Job::NodesOfRanks() const {
  StringMap<std::string> nodes;
  const auto take = [&](std::string_view rank, std::string_view node) {
    const auto [at, fresh] = nodes.try_emplace(std::string(rank), node);
    if (!fresh && at->second != node) at->second.clear();
  };
  // What a collector samples of a rank's process names both, also in files of samples.
  for (const auto& [key, source] : sources_) {
    for (const auto& [id, binding] : source->schemas) {
      for (const SeriesDescriptor& series : binding->schema.series) {
        const std::string_view rank = series.labels.Get("rank");
        const std::string_view node = series.labels.Get("node");
        if (!rank.empty() && !node.empty()) take(rank, node);
      }
    }
  }
  // The processes themselves know better; the newest boot of a rank counts.
  StringMap<int64_t> started;
  for (const auto& [key, source] : sources_) {
    const SourceInfo& info = source->info;
    if (info.kind != SourceKind::kRank || info.node.empty()) continue;
    std::string rank = Cat(info.rank);
    const auto [at, fresh] = started.try_emplace(rank, info.start_ns);
    if (!fresh && at->second >= info.start_ns) continue;
    at->second = info.start_ns;
    nodes[std::move(rank)] = info.node;
  }
  return nodes;
}

// Of a job that has ended only the name stays.
void Job::Forget() {
  order_.Clear();
  rank_boots_.Clear();
  sources_.clear();
  timeline_ = Timeline();
  time_.reset();
  steps_.Clear();
  incidents_.Clear();
  own_series_.clear();
  deaths_.Clear();
  owner_.ForgetSenders();
  TakeBaselines({});
  observers_.clear();
  memory_.Clear();
}

size_t Job::MemoryBytes() const {
  size_t bytes = sizeof(*this) + memory_.total() + incidents_.MemoryBytes();
  if (time_ != nullptr) bytes += time_->MemoryBytes();
  for (const auto& domain : steps_) bytes += domain->MemoryBytes();
  return bytes;
}

void Job::Save(BinaryWriter& out) const {
  out.Str(identity_.id);
  out.Bool(ended_);
  out.I64(tombstone_age_ns_);
  out.I64(log_time_ns_);
  SaveEnds(out);
  owner_.Save(out);
  if (ended_) return;
  out.U64(identity_.withheld.size());
  for (const auto& [metric, reason] : identity_.withheld) {
    out.Str(metric);
    out.Str(reason);
  }
  out.Str(identity_.limit_reason);

  for (const int64_t position :
       {watermark_, origin_, applied_, last_activity_, last_frame_watermark_, next_step_judgement_,
        next_expiry_, own_series_at_}) {
    out.I64(position);
  }
  out.I64(attempt_boot_ns_);
  out.Bool(attempt_by_rank_0_);
  out.I64(blind_ns_);
  out.I64(last_append_ns_);
  out.U64(memory_.held(PendingKind::kSamples) / 8);
  out.U64(own_series_.size());
  for (const auto& [labels, value] : own_series_) {
    out.U64(labels.size());
    for (const Label& label : labels) {
      out.Str(label.name);
      out.Str(label.value);
    }
    out.Double(value);
  }
  out.U64(sources_.size());
  for (const auto& [key, source] : sources_) source->Save(out);
  timeline_.Save(out);
  out.Bool(time_ != nullptr);
  if (time_ != nullptr) time_->Save(out);
  out.U64(steps_.shared());
  steps_.Save(out);
  for (const auto& domain : steps_) {
    out.Str(domain->clock().mode);
    domain->Save(out);
  }
  incidents_.Save(out);
  out.Bool(history_lost_);
  if (time_ != nullptr) time_->SaveHistoryLost(out);
  for (const auto& domain : steps_) domain->SaveHistoryLost(out);
  deaths_.Save(out);
}

bool Job::SavedAsEnded(std::string_view saved) {
  BinaryReader in(saved);
  (void)in.Str();
  return in.Bool() && in.ok();
}

// Every field that the format before has not gets its natural empty value, by `format`.
Status Job::Restore(BinaryReader& in, uint32_t format) {
  const std::string id = in.Str();
  if (id != identity_.id)
    return DataLoss(Cat("snapshot: of job ", Quote(id), ", not of ", Quote(identity_.id)));
  ended_ = in.Bool();
  tombstone_age_ns_ = in.I64();
  log_time_ns_ = in.I64();
  RestoreEnds(in);
  // Its name and labels are known only now.
  if (rules_ != nullptr && rules_->ProgramFor(identity_) != program_) BuildRunners();
  owner_.Restore(in);
  identity_.owner = owner_.text();
  if (ended_) {
    Forget();
    return in.Finish("snapshot");
  }
  for (size_t n = in.Count(2); n > 0; --n) {
    std::string metric = in.Str();
    identity_.withheld[std::move(metric)] = in.Str();
  }
  identity_.limit_reason = in.Str();
  for (int64_t* position :
       {&watermark_, &origin_, &applied_, &last_activity_, &last_frame_watermark_,
        &next_step_judgement_, &next_expiry_, &own_series_at_}) {
    *position = in.I64();
  }
  attempt_boot_ns_ = in.I64();
  attempt_by_rank_0_ = in.Bool();
  blind_ns_ = in.I64();
  last_append_ns_ = in.I64();
  (void)in.U64();  // samples that wait: counted below
  for (size_t n = in.Count(9); n > 0; --n) {
    std::vector<Label> labels(in.Count(2));
    for (Label& label : labels) {
      label.name = in.Str();
      label.value = in.Str();
    }
    own_series_[Labels::FromPairs(std::move(labels))] = in.Double();
  }
  for (size_t n = in.Count(8); n > 0; --n) {
    auto source = std::make_unique<Source>();
    RETURN_IF_ERROR(source->Restore(in, format));
    const SourceKey key(source->id, source->boot);
    ranks_here_ += source->here ? 1 : 0;
    Source* restored = source.get();
    if (!sources_.emplace(key, std::move(source)).second)
      return DataLoss(Cat("snapshot: source ", Quote(key.first), " appears twice"));
    rank_boots_.Add(restored);
    CountHeld(*restored);
    order_.Update(restored);
    order_.UpdateSteps(restored);
  }
  RETURN_IF_ERROR(timeline_.Restore(in));
  memory_.Set(PendingKind::kTimelineEvents, timeline_.bytes());
  const bool has_time = in.Bool();
  if (has_time != (time_ != nullptr))
    return DataLoss("snapshot: made with other rules (time clock)");
  if (has_time) RETURN_IF_ERROR(time_->Restore(in, format));
  if (in.U64() != steps_.shared()) return DataLoss("snapshot: made with other rules (step clocks)");
  if (format >= 7) {
    RETURN_IF_ERROR(steps_.Restore(in, [this](size_t domain, uint32_t clock) {
      return std::make_unique<ClockDomain>(program_, domain, options_, counters_, clock);
    }));
  }
  for (const auto& domain : steps_) {
    if (in.Str() != domain->clock().mode)
      return DataLoss("snapshot: made with other rules (mode of a step clock)");
    RETURN_IF_ERROR(domain->Restore(in, format));
  }
  incidents_.Restore(in);
  history_lost_ = in.Bool();
  if (time_ != nullptr) time_->RestoreHistoryLost(in);
  for (const auto& domain : steps_) domain->RestoreHistoryLost(in);
  deaths_.Restore(in);
  for (const auto& domain : steps_) {
    if (domain->is_shared()) NameMissingRanks(domain->clock().mode);
  }
  SetParameters();
  TakeBaselines(FindBaselines());
  ++bindings_generation_;
  return in.Finish("snapshot");
}

}  // namespace pitwall::engine
