#include "services/engine/shard.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::engine {

Shard::Shard(RuleSetProvider* rules, const EngineOptions& options)
    : rules_(rules), options_(options) {}
Shard::~Shard() = default;

Status Shard::SetInitialRules(const std::string& hash) {
  hash_ = hash;
  rule_set_.reset();
  if (!hash.empty()) {
    ASSIGN_OR_RETURN(rule_set_, rules_->Load(hash));
  }
  hash_history_ = {{INT64_MIN, hash}};
  for (auto& [id, entry] : jobs_) {
    if (entry.job != nullptr && entry.job->lifecycle().ended())
      entry.job->SetRules(rule_set_, nullptr);
  }
  return OkStatus();
}

void Shard::StartAt(int64_t offset, int64_t strangers_from) {
  next_offset_ = offset;
  strangers_from_ = strangers_from;
}

void Shard::RebuildStrangers(int64_t upto, bool whole) {
  rebuild_upto_ = upto;
  rebuild_whole_ = whole;
}

void Shard::PostponeSnapshot(const std::string& job) {
  Entry& entry = jobs_.at(job);
  entry.snapshot_due = false;
  if (entry.job != nullptr) entry.snapshot_log_time = entry.job->log_time_ns();
}

void Shard::LoseHistory(int64_t upto) {
  log_time_read_ns_ = 0;  // a job met from here on may have begun among what is gone
  for (auto& [id, entry] : jobs_) {
    if (entry.job == nullptr || entry.job->lifecycle().ended() || entry.from_offset >= upto)
      continue;
    entry.job->LoseHistory();
    entry.unsettled = true;
  }
}

std::vector<std::string> Shard::NeedsReconcile() const {
  std::vector<std::string> jobs;
  for (const auto& [id, entry] : jobs_) {
    if (entry.unsettled) jobs.push_back(id);
  }
  return jobs;
}

void Shard::ReconcileAlerts(const std::string& job) {
  Entry& entry = jobs_.at(job);
  entry.unsettled = false;
  entry.snapshot_due = entry.job != nullptr;
  if (entry.job != nullptr) entry.job->DropAlerts();
}

Status Shard::RestoreJob(const JobSnapshot& snapshot) {
  Entry entry;
  entry.first_offset = snapshot.offset;
  entry.from_offset = snapshot.offset;
  entry.snapshot_offset = snapshot.offset;
  if (snapshot.format == kSnapshotGone) {
    entry.gone_at = snapshot.offset;
    entry.marked = true;
  } else if (Knows(snapshot.format)) {
    // A job that is over has no rules of its own: should it go on, those in force then judge it.
    const bool over = SavedAsEnded(snapshot.payload);
    CompiledRulesPtr rules = over ? rule_set_ : nullptr;
    if (!over && !snapshot.rule_set_hash.empty()) {
      ASSIGN_OR_RETURN(rules, rules_->Load(snapshot.rule_set_hash));
    }
    entry.job = std::make_unique<Job>(snapshot.job, std::move(rules), options_, &counters_);
    BinaryReader reader(snapshot.payload);
    if (Status status = entry.job->Restore(reader, snapshot.format); !status.ok()) {
      return Annotate(status, Cat("job ", Quote(snapshot.job), " at offset ", snapshot.offset));
    }
    entry.snapshot_log_time = entry.job->log_time_ns();
    entry.tombstone_kept = entry.job->lifecycle().ended();
    ++counters_.restored_jobs;
  } else {
    return DataLoss(Cat("job ", Quote(snapshot.job), " at offset ", snapshot.offset,
                        ": snapshot of format ", snapshot.format, ", this version reads ",
                        kSnapshotJobBefore == kSnapshotJob ? "" : Cat(kSnapshotJobBefore, " and "),
                        kSnapshotJob,
                        "; start the version that wrote it, or one between (docs/upgrade.md)"));
  }
  jobs_[snapshot.job] = std::move(entry);
  return OkStatus();
}

Status Shard::Apply(int64_t offset, int64_t append_time_ns, std::string_view key,
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
    ApplyBatch(offset, append_time_ns, *record->batch, value, out);
  }
  ++counters_.records;
  next_offset_ = offset + 1;
  return OkStatus();
}

bool Shard::Full() const {
  if (jobs_.size() < options_.max_jobs) return false;
  size_t running = 0;
  for (const auto& [id, entry] : jobs_)
    running += entry.job != nullptr && !entry.job->lifecycle().ended();
  return running >= options_.max_jobs;
}

bool Shard::ShareIsFull(const std::string& owner) const {
  if (owner.empty() || jobs_.size() < options_.max_jobs_per_owner) return false;
  size_t running = 0;
  for (const auto& [id, entry] : jobs_)
    running += entry.job != nullptr && !entry.job->lifecycle().ended() &&
               entry.job->identity().owner == owner;
  return running >= options_.max_jobs_per_owner;
}

void Shard::EvictTombstones(int64_t offset, const std::string& owner) {
  if (jobs_.size() < std::min(options_.max_tombstones, options_.max_tombstones_per_owner)) return;
  size_t ended = 0;
  size_t ended_of_owner = 0;
  Entry* first = nullptr;
  Entry* first_of_owner = nullptr;
  for (auto& [id, entry] : jobs_) {
    // Of a restored job nothing before its snapshot is known.
    if (entry.job == nullptr || !entry.job->lifecycle().ended() || offset < entry.from_offset)
      continue;
    const auto keep_first = [&entry = entry](Entry** known) {
      if (*known == nullptr ||
          entry.job->lifecycle().ended_at() < (*known)->job->lifecycle().ended_at())
        *known = &entry;
    };
    ++ended;
    keep_first(&first);
    if (owner.empty() || entry.job->identity().owner != owner) continue;
    ++ended_of_owner;
    keep_first(&first_of_owner);
  }
  Entry* evicted = nullptr;
  if (ended_of_owner >= options_.max_tombstones_per_owner) evicted = first_of_owner;
  if (evicted == nullptr && ended >= options_.max_tombstones) evicted = first;
  if (evicted == nullptr) return;
  evicted->job.reset();
  evicted->gone_at = offset + 1;
  // Its snapshot is older than records that nothing else needs.
  evicted->tombstone_kept = false;
  evicted->snapshot_offset = std::max(evicted->snapshot_offset, offset);
}

void Shard::ApplyBatch(int64_t offset, int64_t append_time_ns, const Batch& batch,
                       std::string_view raw, EventSink* out) {
  auto it = jobs_.find(batch.job);
  if (it == jobs_.end()) {
    if (offset < strangers_from_) return;
    if (Full() || ShareIsFull(batch.owner)) {
      counters_.Count(Drop::kLimit);
      return;
    }
    EvictTombstones(offset, batch.owner);
    it = jobs_.emplace(batch.job, Entry{}).first;
    it->second.first_offset = offset;
    it->second.from_offset = offset;
  }
  Entry& entry = it->second;
  if (offset < entry.from_offset) return;  // part of the restored state
  if (entry.job != nullptr && entry.job->DisplaceFor(batch, out)) entry.job.reset();
  if (entry.job == nullptr) {
    entry.job = std::make_unique<Job>(batch.job, rule_set_, options_, &counters_);
    entry.gone_at = -1;
    entry.tombstone_kept = false;
    entry.marked = false;
    entry.snapshot_log_time = 0;
    // Whoever was there before has been silent for too long by then.
    if (offset < rebuild_upto_ && !rebuild_whole_ && log_time_read_ns_ <= options_.silence_ns) {
      entry.job->LoseHistory();
      entry.unsettled = true;
    }
  }
  entry.job->OnBatch({offset, append_time_ns}, batch, raw, out);
  if (entry.tombstone_kept && !entry.job->lifecycle().ended()) {
    // It goes on. Between its snapshot and here nothing happened to it but ticks, which only made
    // its tombstone older: it is rebuilt from here on, and soon has a snapshot of its own again.
    entry.tombstone_kept = false;
    entry.snapshot_offset = offset;
    entry.snapshot_log_time = INT64_MIN / 2;
  }
}

Status Shard::ApplyControl(int64_t offset, const ControlRecord& control, EventSink* out) {
  if (control.kind == ControlRecord::Kind::kRuleSetChange) {
    if (control.rule_set_hash == hash_) return OkStatus();
    ASSIGN_OR_RETURN(CompiledRulesPtr rules, rules_->Load(control.rule_set_hash));
    hash_ = control.rule_set_hash;
    rule_set_ = std::move(rules);
    hash_history_.emplace_back(offset, hash_);
    for (auto& [id, entry] : jobs_) {
      if (entry.job != nullptr && (offset >= entry.from_offset || entry.job->lifecycle().ended()))
        entry.job->SetRules(rule_set_, out);
    }
    return OkStatus();
  }
  ++counters_.ticks;
  log_time_read_ns_ += control.elapsed_ns;
  for (auto& [id, entry] : jobs_) {
    if (entry.job == nullptr || offset < entry.from_offset) continue;
    entry.job->OnTick(control.elapsed_ns, out);
    if (entry.job->lifecycle().gone()) {
      entry.job.reset();
      entry.gone_at = offset + 1;
    }
  }
  return OkStatus();
}

void Shard::FinishInput(bool end_jobs, EventSink* out) {
  for (auto& [id, entry] : jobs_) {
    if (entry.job != nullptr) entry.job->FinishInput(end_jobs, out);
  }
}

std::string Shard::RuleSetHashAt(int64_t offset) const {
  std::string hash;
  for (const auto& [at, changed_to] : hash_history_) {
    if (at >= offset) break;
    hash = changed_to;
  }
  return hash;
}

int64_t Shard::replay_offset() const {
  int64_t least = next_offset_;
  for (const auto& [id, entry] : jobs_) {
    // All that is left of a tombstone's state is its age, which its next snapshot corrects.
    if (entry.tombstone_kept && entry.job != nullptr && entry.job->lifecycle().ended()) continue;
    least =
        std::min(least, entry.snapshot_offset >= 0 ? entry.snapshot_offset : entry.first_offset);
  }
  return least;
}

std::vector<std::string> Shard::SnapshotsDue(int64_t interval_ns, size_t limit) const {
  std::vector<std::string> due;
  for (const auto& [id, entry] : jobs_) {
    if (due.size() >= limit) break;
    const bool gone = entry.job == nullptr && !entry.marked;
    const bool tombstone =
        entry.job != nullptr && entry.job->lifecycle().ended() && entry.tombstone_kept;
    if (gone || entry.snapshot_due ||
        (entry.job != nullptr && entry.job->log_time_ns() - entry.snapshot_log_time >=
                                     (tombstone ? kTombstoneIntervalNs : interval_ns))) {
      due.push_back(id);
    }
  }
  return due;
}

JobSnapshot Shard::Snapshot(const std::string& job, int64_t offset) const {
  const Entry& entry = jobs_.at(job);
  JobSnapshot snapshot{
      .job = job, .offset = offset, .rule_set_hash = hash_, .format = kSnapshotGone, .payload = {}};
  if (entry.job != nullptr) {
    snapshot.format = kSnapshotJob;
    BinaryWriter writer;
    entry.job->Save(writer);
    snapshot.payload = writer.Take();
  }
  return snapshot;
}

void Shard::SnapshotCommitted(const JobSnapshot& snapshot) {
  const auto it = jobs_.find(snapshot.job);
  if (it == jobs_.end()) return;
  it->second.snapshot_offset = snapshot.offset;
  it->second.snapshot_due = false;
  it->second.marked = snapshot.format == kSnapshotGone;
  it->second.tombstone_kept = it->second.job != nullptr && it->second.job->lifecycle().ended();
  if (it->second.job != nullptr) it->second.snapshot_log_time = it->second.job->log_time_ns();
  // Only the rule set in force at the replay offset, and later ones, can still be asked for.
  const int64_t replay = replay_offset();
  while (hash_history_.size() > 1 && hash_history_[1].first < replay)
    hash_history_.erase(hash_history_.begin());
}

std::vector<std::string> Shard::TakeForgotten() {
  int64_t least = next_offset_;
  for (const auto& [id, entry] : jobs_) {
    if (entry.marked) continue;
    least =
        std::min(least, entry.snapshot_offset >= 0 ? entry.snapshot_offset : entry.first_offset);
  }
  std::vector<std::string> forgotten;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    if (it->second.marked && it->second.job == nullptr && it->second.snapshot_offset <= least) {
      forgotten.push_back(it->first);
      it = jobs_.erase(it);
    } else {
      ++it;
    }
  }
  return forgotten;
}

size_t Shard::jobs() const {
  return static_cast<size_t>(std::count_if(
      jobs_.begin(), jobs_.end(), [](const auto& entry) { return entry.second.job != nullptr; }));
}

const Job* Shard::FindJob(const std::string& id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second.job.get();
}

std::vector<const Job*> Shard::Jobs() const {
  std::vector<const Job*> all;
  for (const auto& [id, entry] : jobs_) {
    if (entry.job != nullptr) all.push_back(entry.job.get());
  }
  return all;
}

}  // namespace pitwall::engine
