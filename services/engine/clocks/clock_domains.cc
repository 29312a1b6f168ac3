#include "services/engine/clocks/clock_domains.h"

#include <algorithm>
#include <utility>

#include "services/engine/domain/recordings.h"

namespace pitwall::engine {

ClockDomains::ClockDomains(const EngineOptions& options, const JobIdentity* job,
                           EngineCounters* counters)
    : options_(options), job_(job), counters_(counters) {}

bool ClockDomains::NeedsOtherProgram() const {
  return rules_ != nullptr && rules_->ProgramFor(*job_) != program_;
}

void ClockDomains::Begin() {
  time_.reset();
  steps_.Clear();
  program_ = rules_ == nullptr ? nullptr : rules_->ProgramFor(*job_);
  if (program_ == nullptr) return;
  for (size_t i = 0; i < program_->domains.size(); ++i) {
    auto domain = std::make_unique<ClockDomain>(program_, i, options_, counters_);
    if (domain->clock().step) {
      steps_.AddShared(std::move(domain));
    } else {
      time_ = std::move(domain);
    }
  }
  SetParameters();
  Observe();
  if (history_lost_) LoseHistory();
}

void ClockDomains::Replace(const EvalTime& at, EventTime origin, EventSink* out) {
  // The old domains use the previous program until they are destroyed.
  [[maybe_unused]] const plan::ProgramPtr before =
      std::exchange(program_, rules_->ProgramFor(*job_));
  std::unique_ptr<ClockDomain> time;
  for (size_t i = 0; program_ != nullptr && i < program_->domains.size(); ++i) {
    if (program_->domains[i].demands.clock.step) continue;
    if (time_ != nullptr) {
      time = std::move(time_);
      time->Replace(program_, i, at, *job_, out);
    } else {
      time = std::make_unique<ClockDomain>(program_, i, options_, counters_);
      time->ticks().SetOrigin(PositionOf(origin), at.position);
    }
  }
  if (time_ != nullptr) time_->evaluator().RemoveAll({at, *job_, out});
  time_ = std::move(time);
  ReplaceSteps(at, out);
  SetParameters();
  Observe();
}

// A step clock keeps its state if the new program has rules for its mode. All other step clocks
// end.
void ClockDomains::ReplaceSteps(const EvalTime& at, EventSink* out) {
  StepClocks::Domains before = steps_.Release();
  const auto domain_of = [&](const ClockSpec& clock) {
    size_t i = 0;
    while (i < program_->domains.size() && program_->domains[i].demands.clock != clock) ++i;
    return i;
  };
  const size_t domains = program_ == nullptr ? 0 : program_->domains.size();
  for (auto& runner : before) {
    const size_t domain = program_ == nullptr ? 0 : domain_of(runner->clock());
    if (domain < domains) {
      runner->Replace(program_, domain, OnClock(*runner, at), *job_, out);
    } else {
      runner->evaluator().RemoveAll({OnClock(*runner, at), *job_, out});
      runner.reset();
    }
  }
  for (size_t i = 0; i < domains; ++i) {
    const ClockSpec& clock = program_->domains[i].demands.clock;
    if (!clock.step) continue;
    const auto kept = std::find_if(before.begin(), before.end(), [&](const auto& runner) {
      return runner != nullptr && runner->id().is_shared() && runner->clock() == clock;
    });
    steps_.AddShared(kept != before.end()
                         ? std::move(*kept)
                         : std::make_unique<ClockDomain>(program_, i, options_, counters_));
  }
  for (auto& runner : before) {
    if (runner != nullptr) steps_.AddSeparate(std::move(runner));
  }
}

void ClockDomains::SetParameters() {
  if (rules_ == nullptr) return;
  ForEach([&](ClockDomain& domain) {
    domain.evaluator().SetParameters(rules_->ParametersFor(domain.id().index, *job_));
  });
}

void ClockDomains::Clear() {
  time_.reset();
  steps_.Clear();
  observers_.clear();
}

void ClockDomains::Observe() {
  if (options_.recordings == nullptr) return;
  observers_.clear();
  ForEach([&](ClockDomain& domain) {
    observers_.push_back(
        std::make_unique<SpaceRecordings>(job_, domain.clock(), options_.recordings));
    domain.evaluator().SetObserver(observers_.back().get());
  });
}

EvalTime OnClock(const ClockDomain& domain, EvalTime at) {
  if (!domain.clock().step) return at;
  const Position watermark = domain.ticks().watermark();
  at.position = watermark == Position::Earliest() ? Position() : watermark;
  at.step = watermark == Position::Earliest() ? Step::None() : StepOf(watermark);
  return at;
}

ClockDomain* ClockDomains::AddSeparate(const std::string& mode) {
  if (steps_.CountSeparate(mode) >= options_.max_separate_clocks_per_mode) return nullptr;
  const size_t index = steps_.Shared(mode)->id().index;
  auto domain =
      std::make_unique<ClockDomain>(program_, index, options_, counters_, steps_.NextId());
  domain->evaluator().SetParameters(rules_->ParametersFor(index, *job_));
  return steps_.AddSeparate(std::move(domain));
}

void ClockDomains::LoseHistory() {
  history_lost_ = true;
  ForEach([](ClockDomain& domain) { domain.history_loss().Lose(); });
}

bool ClockDomains::history_lost() const {
  bool lost = false;
  ForEach([&](const ClockDomain& domain) { lost = lost || domain.history_lost(); });
  return history_lost_ && lost;
}

std::vector<RuleStatusNow> StatusesOf(const ClockDomains& domains) {
  std::vector<RuleStatusNow> all;
  domains.ForEach([&](ClockDomain& domain) {
    if (!domain.id().is_shared()) return;
    for (const RuleStatusNow& status : domain.rules().Statuses()) all.push_back(status);
  });
  return all;
}

void ClockDomains::Save(BinaryWriter& out) const {
  out.Bool(time_ != nullptr);
  if (time_ != nullptr) time_->Save(out);
  out.U64(steps_.shared());
  steps_.Save(out);
  for (const auto& domain : steps_) {
    out.Str(domain->clock().mode);
    domain->Save(out);
  }
}

Status ClockDomains::Restore(BinaryReader& in, uint32_t format) {
  const bool has_time = in.Bool();
  if (has_time != (time_ != nullptr))
    return DataLoss("snapshot: created with different rules (time clock)");
  if (has_time) RETURN_IF_ERROR(time_->Restore(in, format));
  if (in.U64() != steps_.shared())
    return DataLoss("snapshot: created with different rules (step clocks)");
  if (format >= 7) {
    RETURN_IF_ERROR(steps_.Restore(in, [this](size_t domain, uint32_t clock) {
      return std::make_unique<ClockDomain>(program_, domain, options_, counters_, clock);
    }));
  }
  for (const auto& domain : steps_) {
    if (in.Str() != domain->clock().mode)
      return DataLoss("snapshot: created with different rules (step clock mode)");
    RETURN_IF_ERROR(domain->Restore(in, format));
  }
  return OkStatus();
}

void ClockDomains::SaveHistoryLost(BinaryWriter& out) const {
  out.Bool(history_lost_);
  ForEach([&](ClockDomain& domain) { domain.history_loss().Save(out); });
}

void ClockDomains::RestoreHistoryLost(BinaryReader& in) {
  history_lost_ = in.Bool();
  ForEach([&](ClockDomain& domain) { domain.history_loss().Restore(in); });
}

}  // namespace pitwall::engine
