#include "services/engine/job/job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"
#include "services/engine/sources/silent_nodes.h"

namespace pitwall::engine {
namespace {
constexpr std::string_view kOtherOwner = "other_owner";
}  // namespace

Job::Job(std::string id, CompiledRulesPtr rules, const EngineOptions& options,
         EngineCounters* counters)
    : options_(options),
      counters_(counters),
      clock_(options_),
      limits_(options_, &identity_, counters),
      input_(options_, &clock_, &limits_, counters),
      rules_(options_, &identity_, counters, &limits_, &clock_, &input_.sources().all()),
      steps_(options_, counters, &limits_, &input_.sources(), &rules_, &attempt_),
      ticks_(&identity_, &clock_, &rules_, &steps_, &attempt_),
      lifecycle_(options_, &identity_, counters, &clock_, &attempt_, &steps_, &rules_),
      ends_(options_, &identity_, &owner_, &input_, &rules_.writer(), &steps_, &ticks_, &attempt_,
            &lifecycle_),
      reader_(options_, counters, &clock_, &input_, &rules_.series()),
      applier_(options_, counters, &identity_, &clock_, &input_, &rules_, &steps_, &ticks_,
               &attempt_, &lifecycle_, &ends_) {
  identity_.id = std::move(id);
  rules_.domains().SetRules(std::move(rules));
  rules_.Begin();
}

bool Job::TakeOwner(const Batch& batch) {
  if (owner_.Judge(batch, lifecycle_.ended()) == JobOwner::Verdict::kOurs) {
    owner_.Adopt(batch);
    identity_.owner = owner_.text();
    return true;
  }
  counters_->Count(Drop::kOtherOwner);
  if (!lifecycle_.ended() && owner_.Refuse(batch))
    rules_.series().Flag(batch.source, batch.info.node, kOtherOwner, true);
  return false;
}

bool Job::DisplaceFor(const Batch& batch, EventSink* out) {
  if (owner_.Judge(batch, lifecycle_.ended()) != JobOwner::Verdict::kDisplaces) return false;
  ++counters_->displaced_jobs;
  if (!lifecycle_.ended() && clock_.begun())
    lifecycle_.End(clock_.watermark(), EndDetail::kCancelled, /*by_event=*/false, out);
  Forget();
  return true;
}

void Job::OnBatch(const RecordPosition& at, const Batch& batch, std::string_view raw,
                  EventSink* out) {
  ++counters_->batches;
  if (!TakeOwner(batch)) return;
  log_time_.OnBatch(at.append_time);
  if (lifecycle_.ended()) {
    if (!lifecycle_.IsResumedBy(batch)) {
      counters_->Count(Drop::kJobEnded);
      lifecycle_.Amend(at.append_time, batch, out);
      return;
    }
    lifecycle_.Resume();
    log_time_.Resume();
    rules_.Begin();
  }
  Source* source = reader_.Read(at, batch, raw, out);
  if (source == nullptr) return;
  Advance(reader_.liveness().OnBatch(source, batch.goodbye), out);
  clock_.NoteBatch();
}

void Job::OnTick(Duration elapsed, EventSink* out) {
  log_time_.OnTick(elapsed);
  if (lifecycle_.ended()) {
    lifecycle_.TickTombstone(elapsed);
    return;
  }
  for (const auto& [source, node] : owner_.Tick(elapsed))
    rules_.series().Flag(source, node, kOtherOwner, false);
  reader_.liveness().OnTick(elapsed, out);
  if (clock_.begun())
    rules_.series().WriteSilentNodes(SilentNodes(input_.sources().all(), options_));
  if (const EventTime least = input_.sources().order().LeastPromise();
      least != EventTime::Earliest()) {
    Advance(least, out);
  } else if (!clock_.begun()) {
    // No source has a trustworthy clock. The job starts at the log's append time, so that the rules
    // report missing data.
    if (log_time_.OnBlindTick(elapsed, options_))
      Advance(EventTimeAt(log_time_.last_append()), out);
  } else {
    Advance(clock_.watermark() + elapsed, out);
    if (!lifecycle_.ended() && clock_.silence() >= options_.ends.silence) {
      lifecycle_.End(clock_.watermark(), EndDetail::kSilent, /*by_event=*/false, out);
      Forget();
    }
  }
  if (lifecycle_.ended()) return;
  ends_.RemoveExpired(clock_.begun() ? std::optional(clock_.watermark()) : std::nullopt, out);
  if (lifecycle_.ended()) Forget();
}

void Job::Advance(EventTime to, EventSink* out) {
  if (lifecycle_.ended() || to == EventTime::Earliest() || to <= clock_.passed()) return;
  const bool first = !clock_.begun();
  clock_.Advance(to);
  if (ClockDomain* time = rules_.domains().time(); first && time != nullptr)
    time->ticks().SetOrigin(PositionOf(clock_.origin()));
  applier_.ApplyUpTo(to, out);
  lifecycle_.EmitStarted(to, out);
  if (lifecycle_.ended()) Forget();
}

void Job::FinishInput(bool end_job, EventSink* out) {
  EventTime last = clock_.watermark();
  for (const auto& [key, source] : input_.sources().all())
    last = std::max({last, source->newest_sample, source->promise});
  if (last == EventTime::Earliest()) return;
  Advance(last, out);
  if (end_job && !lifecycle_.ended()) {
    lifecycle_.End(clock_.watermark(), EndDetail::kCompleted, /*by_event=*/true, out);
    Forget();
  }
}

void Job::SetRules(CompiledRulesPtr rules, EventSink* out) {
  if (lifecycle_.ended()) {
    rules_.domains().SetRules(std::move(rules));
  } else {
    rules_.Replace(std::move(rules), attempt_.ContextAt(clock_.watermark()), out);
  }
}

void Job::DropAlerts() {
  if (!lifecycle_.ended() && clock_.begun())
    rules_.issues().Drop(attempt_.ContextAt(clock_.watermark()));
}

void Job::Forget() {
  input_.Clear();
  rules_.Clear();
  attempt_.ranks().failures().Clear();
  owner_.ForgetSenders();
}

size_t Job::MemoryBytes() const {
  return sizeof(*this) + input_.sources().memory().total() + rules_.MemoryBytes();
}

void Job::Save(BinaryWriter& out) const {
  out.Str(identity_.id);
  lifecycle_.SaveAge(out);
  log_time_.SaveTicks(out);
  lifecycle_.Save(out);
  owner_.Save(out);
  if (lifecycle_.ended()) return;
  out.U64(identity_.withheld.size());
  for (const auto& [metric, reason] : identity_.withheld) {
    out.Str(metric);
    out.Str(reason);
  }
  out.Str(identity_.limit_reason);
  clock_.Save(out);
  rules_.series().SaveTime(out);
  attempt_.SaveFirstRank(out);
  log_time_.Save(out);
  out.U64(input_.sources().memory().held(PendingKind::kSamples) / 8);
  rules_.series().Save(out);
  input_.Save(out);
  rules_.domains().Save(out);
  rules_.issues().Save(out);
  rules_.domains().SaveHistoryLost(out);
  attempt_.ranks().failures().Save(out);
}

// If `format` is the previous format, its missing fields get empty default values.
Status Job::Restore(BinaryReader& in, uint32_t format) {
  const std::string id = in.Str();
  if (id != identity_.id)
    return DataLoss(Cat("snapshot: belongs to job ", Quote(id), ", not to ", Quote(identity_.id)));
  lifecycle_.RestoreAge(in);
  log_time_.RestoreTicks(in);
  lifecycle_.Restore(in);
  // The job's name and labels, which select its overrides, are now known.
  if (rules_.domains().NeedsOtherProgram()) rules_.Begin();
  owner_.Restore(in);
  identity_.owner = owner_.text();
  if (lifecycle_.ended()) {
    Forget();
    return in.Finish("snapshot");
  }
  for (size_t n = in.Count(2); n > 0; --n) {
    std::string metric = in.Str();
    identity_.withheld[std::move(metric)] = in.Str();
  }
  identity_.limit_reason = in.Str();
  clock_.Restore(in);
  rules_.series().RestoreTime(in);
  attempt_.RestoreFirstRank(in);
  log_time_.Restore(in);
  (void)in.U64();  // Number of waiting samples, as counted by SourceTable.
  rules_.series().Restore(in);
  RETURN_IF_ERROR(input_.Restore(in, format));
  attempt_.ranks().RestoreRunning(input_.sources().all());
  RETURN_IF_ERROR(rules_.domains().Restore(in, format));
  rules_.issues().Restore(in);
  rules_.domains().RestoreHistoryLost(in);
  attempt_.ranks().failures().Restore(in);
  steps_.NameMissingRanks();
  rules_.domains().SetParameters();
  rules_.baselines().Find();
  rules_.writer().Rebind();
  return in.Finish("snapshot");
}

bool SavedAsEnded(std::string_view saved) {
  BinaryReader in(saved);
  (void)in.Str();
  return in.Bool() && in.ok();
}

}  // namespace pitwall::engine
