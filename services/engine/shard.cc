#include "services/engine/shard.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::engine {

Shard::Shard(RuleSetProvider* rules, const EngineOptions& options)
    : rules_(rules), options_(options), jobs_(options) {}
Shard::~Shard() = default;

Status Shard::SetInitialRules(const std::string& hash) {
  rule_set_.reset();
  if (!hash.empty()) {
    ASSIGN_OR_RETURN(rule_set_, rules_->Load(hash));
  }
  rule_sets_.Begin(hash);
  jobs_.ForEach([&](JobEntry& entry) {
    if (entry.is_tombstone()) entry.job->SetRules(rule_set_, nullptr);
  });
  return OkStatus();
}

void Shard::StartAt(LogOffset offset, LogOffset strangers_from) {
  next_offset_ = offset;
  strangers_from_ = strangers_from;
}

void Shard::RebuildStrangers(LogOffset upto, bool whole) {
  rebuild_upto_ = upto;
  rebuild_whole_ = whole;
}

void Shard::PostponeSnapshot(const std::string& job) {
  JobEntry& entry = *jobs_.FindEntry(job);
  entry.snapshot_due = false;
  if (entry.job != nullptr) entry.snapshot_log_time = entry.job->state().log_time.ticks();
}

void Shard::LoseHistory(LogOffset upto) {
  log_time_read_ = Duration::Zero();  // The lost records may contain a new job.
  jobs_.ForEach([&](JobEntry& entry) {
    if (!entry.running() || entry.from_offset >= upto) return;
    entry.job->LoseHistory();
    entry.needs_reconcile = true;
  });
}

void Shard::ReconcileAlerts(const std::string& job) {
  JobEntry& entry = *jobs_.FindEntry(job);
  entry.needs_reconcile = false;
  entry.snapshot_due = entry.job != nullptr;
  if (entry.job != nullptr) entry.job->DropAlerts();
}

Status Shard::RestoreJob(const JobSnapshot& snapshot) {
  JobEntry entry;
  entry.first_offset = snapshot.offset;
  entry.from_offset = snapshot.offset;
  entry.snapshot_offset = snapshot.offset;
  if (snapshot.format == kSnapshotGone) {
    entry.gone_at = snapshot.offset;
    entry.marked = true;
  } else if (ReadsSnapshot(snapshot.format)) {
    // A job that is over does not keep its rules. If it resumes, the active rules apply.
    const bool over = SavedAsEnded(snapshot.payload);
    CompiledRulesPtr rules = over ? rule_set_ : nullptr;
    if (!over && !snapshot.rule_set_hash.empty()) {
      ASSIGN_OR_RETURN(rules, rules_->Load(snapshot.rule_set_hash));
    }
    entry.job = std::make_unique<Job>(snapshot.job, std::move(rules), options_, &counters_);
    BinaryReader reader(snapshot.payload);
    if (Status status = entry.job->Restore(reader, snapshot.format); !status.ok()) {
      return Annotate(status,
                      Cat("job ", Quote(snapshot.job), " at offset ", snapshot.offset.value()));
    }
    entry.snapshot_log_time = entry.job->state().log_time.ticks();
    entry.tombstone_kept = entry.job->state().lifecycle.ended();
    ++counters_.restored_jobs;
  } else {
    return DataLoss(Cat(
        "job ", Quote(snapshot.job), " at offset ", snapshot.offset.value(),
        ": snapshot has format ", snapshot.format, ", but this version reads ",
        kSnapshotJobBefore == kSnapshotJob ? "" : Cat(kSnapshotJobBefore, " and "), kSnapshotJob,
        "; start the version that wrote it, or a version in between (docs/upgrade.md)"));
  }
  jobs_.Put(snapshot.job, std::move(entry));
  return OkStatus();
}

Status Shard::Apply(LogOffset offset, AppendTime append_time, std::string_view key,
                    std::string_view value, EventSink* out) {
  StatusOr<codec::DecodedRecord> record = decoder_.Decode(value);
  if (!record.ok()) {
    ++counters_.records;
    next_offset_ = offset + 1;
    counters_.Count(Drop::kUndecodable);
    out->AddDeadLetter(key, value, std::string(ToStd(record.status().message())), offset);
    return OkStatus();
  }
  if (record->control != nullptr) {
    RETURN_IF_ERROR(ApplyControl(offset, *record->control, out));
  } else {
    ApplyBatch(offset, append_time, *record->batch, value, out);
  }
  ++counters_.records;
  next_offset_ = offset + 1;
  return OkStatus();
}

void Shard::ApplyBatch(LogOffset offset, AppendTime append_time, const Batch& batch,
                       std::string_view raw, EventSink* out) {
  JobEntry* known = jobs_.FindEntry(batch.job);
  if (known == nullptr) {
    if (offset < strangers_from_) return;
    known = jobs_.Admit(batch.job, batch.owner, offset);
    if (known == nullptr) {
      counters_.Count(Drop::kLimit);
      return;
    }
  }
  JobEntry& entry = *known;
  if (offset < entry.from_offset) return;  // The restored state contains it.
  if (entry.job != nullptr && entry.job->DisplaceFor(batch, out)) entry.job.reset();
  if (entry.job == nullptr) {
    entry.job = std::make_unique<Job>(batch.job, rule_set_, options_, &counters_);
    entry.gone_at = LogOffset::None();
    entry.tombstone_kept = false;
    entry.marked = false;
    entry.snapshot_log_time = Duration::Zero();
    // Once `silence` has passed since the start of the log, any earlier job with this ID has ended.
    if (offset < rebuild_upto_ && !rebuild_whole_ && log_time_read_ <= options_.ends.silence) {
      entry.job->LoseHistory();
      entry.needs_reconcile = true;
    }
  }
  entry.job->OnBatch({offset, append_time}, batch, raw, out);
  if (entry.tombstone_kept && !entry.job->state().lifecycle.ended()) {
    // The ended job resumes. Since its snapshot, it has received only ticks, which aged its
    // tombstone. The job is rebuilt from this record, and its next snapshot follows soon.
    entry.tombstone_kept = false;
    entry.snapshot_offset = offset;
    entry.snapshot_log_time = Duration::Min() / 2;
  }
}

Status Shard::ApplyControl(LogOffset offset, const ControlRecord& control, EventSink* out) {
  if (control.kind == ControlRecord::Kind::kRuleSetChange) {
    if (control.rule_set_hash == rule_sets_.hash()) return OkStatus();
    ASSIGN_OR_RETURN(CompiledRulesPtr rules, rules_->Load(control.rule_set_hash));
    rule_set_ = std::move(rules);
    rule_sets_.Change(offset, control.rule_set_hash);
    jobs_.ForEach([&](JobEntry& entry) {
      if (entry.job != nullptr && (offset >= entry.from_offset || entry.is_tombstone()))
        entry.job->SetRules(rule_set_, out);
    });
    return OkStatus();
  }
  ++counters_.ticks;
  log_time_read_ += control.elapsed;
  jobs_.ForEach([&](JobEntry& entry) {
    if (entry.job == nullptr || offset < entry.from_offset) return;
    entry.job->OnTick(control.elapsed, out);
    if (entry.job->state().lifecycle.gone()) {
      entry.job.reset();
      entry.gone_at = offset + 1;
    }
  });
  return OkStatus();
}

void Shard::FinishInput(bool end_jobs, EventSink* out) {
  jobs_.ForEach([&](JobEntry& entry) {
    if (entry.job != nullptr) entry.job->FinishInput(end_jobs, out);
  });
}

JobSnapshot Shard::Snapshot(const std::string& job, LogOffset offset) const {
  JobSnapshot snapshot{.job = job,
                       .offset = offset,
                       .rule_set_hash = rule_sets_.hash(),
                       .format = kSnapshotGone,
                       .payload = {}};
  if (const Job* live = jobs_.Find(job); live != nullptr) {
    snapshot.format = kSnapshotJob;
    BinaryWriter writer;
    live->Save(writer);
    snapshot.payload = writer.Take();
  }
  return snapshot;
}

void Shard::SnapshotCommitted(const JobSnapshot& snapshot) {
  JobEntry* entry = jobs_.FindEntry(snapshot.job);
  if (entry == nullptr) return;
  entry->snapshot_offset = snapshot.offset;
  entry->snapshot_due = false;
  entry->marked = snapshot.format == kSnapshotGone;
  entry->tombstone_kept = entry->is_tombstone();
  if (entry->job != nullptr) entry->snapshot_log_time = entry->job->state().log_time.ticks();
  // Only the rule set that is active at the replay offset and later rule sets can still be
  // requested.
  rule_sets_.ForgetBefore(replay_offset());
}

}  // namespace pitwall::engine
