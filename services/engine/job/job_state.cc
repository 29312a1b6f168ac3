#include "services/engine/job/job_state.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::engine {

JobState::JobState(std::string id, const EngineOptions& options, EngineCounters* counters)
    : clock(options),
      limits(options, &identity, counters),
      input(options, &clock, &limits, counters),
      rules(options, &identity, counters, &limits, &clock, &input.sources().all()),
      steps(options, counters, &limits, &input.sources(), &rules, &attempt),
      lifecycle(options, &identity, counters, &clock, &attempt, &steps, &rules) {
  identity.id = std::move(id);
}

void JobState::Forget() {
  input.Clear();
  rules.Clear();
  attempt.ranks().failures().Clear();
  owner.ForgetSenders();
}

size_t JobState::HeldBytes() const {
  return input.sources().memory().total() + rules.MemoryBytes();
}

void JobState::Save(BinaryWriter& out) const {
  out.Str(identity.id);
  lifecycle.SaveAge(out);
  log_time.SaveTicks(out);
  lifecycle.Save(out);
  owner.Save(out);
  if (lifecycle.ended()) return;
  out.U64(identity.withheld.size());
  for (const auto& [metric, reason] : identity.withheld) {
    out.Str(metric);
    out.Str(reason);
  }
  out.Str(identity.limit_reason);
  clock.Save(out);
  rules.series().SaveTime(out);
  attempt.SaveFirstRank(out);
  log_time.Save(out);
  out.U64(input.sources().memory().held(PendingKind::kSamples) / 8);
  rules.series().Save(out);
  input.Save(out);
  rules.domains().Save(out);
  rules.issues().Save(out);
  rules.domains().SaveHistoryLost(out);
  attempt.ranks().failures().Save(out);
}

// If `format` is the previous format, its missing fields get empty default values.
Status JobState::Restore(BinaryReader& in, uint32_t format) {
  const std::string id = in.Str();
  if (id != identity.id)
    return DataLoss(Cat("snapshot: belongs to job ", Quote(id), ", not to ", Quote(identity.id)));
  lifecycle.RestoreAge(in);
  log_time.RestoreTicks(in);
  lifecycle.Restore(in);
  // The job's name and labels, which select its overrides, are now known.
  if (rules.domains().NeedsOtherProgram()) rules.Begin();
  owner.Restore(in);
  identity.owner = owner.text();
  if (lifecycle.ended()) {
    Forget();
    return in.Finish("snapshot");
  }
  for (size_t n = in.Count(2); n > 0; --n) {
    std::string metric = in.Str();
    identity.withheld[std::move(metric)] = in.Str();
  }
  identity.limit_reason = in.Str();
  clock.Restore(in);
  rules.series().RestoreTime(in);
  attempt.RestoreFirstRank(in);
  log_time.Restore(in);
  (void)in.U64();  // Number of waiting samples, as counted by SourceTable.
  rules.series().Restore(in);
  RETURN_IF_ERROR(input.Restore(in, format));
  attempt.ranks().RestoreRunning(input.sources().all());
  RETURN_IF_ERROR(rules.domains().Restore(in, format));
  rules.issues().Restore(in);
  rules.domains().RestoreHistoryLost(in);
  attempt.ranks().failures().Restore(in);
  steps.NameMissingRanks();
  rules.domains().SetParameters();
  rules.baselines().Find();
  rules.writer().Rebind();
  return in.Finish("snapshot");
}

}  // namespace pitwall::engine
