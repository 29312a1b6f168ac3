#include "services/processor/partition_processor.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"

namespace pitwall::processor {

namespace {

constexpr size_t kRefusedHeadBytes = 1000;  // bytes to keep of an output that the log rejects

}  // namespace

PartitionProcessor::PartitionProcessor(int32_t partition, Clock* clock, Log* log, RuleSets* rules,
                                       const PartitionOptions& options)
    : partition_(partition),
      clock_(clock),
      log_(log),
      rules_(rules),
      options_(options),
      input_{std::string(kTelemetryTopic), partition},
      pause_(clock->NewWakeup()) {
  if (options_.memory != nullptr) account_ = options_.memory->Open(Cat("partition ", partition));
}

PartitionProcessor::~PartitionProcessor() = default;

Status PartitionProcessor::TruncatedAt(int64_t end) const {
  return FailedPrecondition(Cat("log_truncated: ", input_.topic, " partition ", partition_,
                                ": the log continues at offset ", end, ", below ", next_offset_,
                                " (topic deleted, recreated, or truncated); ", kAcceptReset));
}

void PartitionProcessor::WantRules(std::string hash) {
  MutexLock lock(&mutex_);
  wanted_rules_ = std::move(hash);
}

PartitionStats PartitionProcessor::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

void PartitionProcessor::Watch(std::vector<std::string> jobs) {
  MutexLock lock(&mutex_);
  watch_ = std::move(jobs);
}

std::optional<WatchedJob> PartitionProcessor::Watched(const std::string& job) const {
  MutexLock lock(&mutex_);
  const auto found = watched_.find(job);
  if (found == watched_.end()) return std::nullopt;
  return found->second;
}

std::map<std::string, WatchedJob, std::less<>> PartitionProcessor::InspectWatched() const {
  std::map<std::string, WatchedJob, std::less<>> seen;
  if (next_offset_ < suppress_below_) return seen;
  std::vector<std::string> watch;
  {
    MutexLock lock(&mutex_);
    watch = watch_;
  }
  for (const std::string& id : watch) {
    WatchedJob& one = seen[id];
    one.rule_set_hash = shard_->rule_sets().hash();
    const engine::Job* job = shard_->jobs().Find(id);
    if (job == nullptr) continue;
    one.found = true;
    one.ended = job->lifecycle().ended();
    one.identity = job->identity();
  }
  return seen;
}

void PartitionProcessor::Interrupt() {
  pause_->Wake();
  if (reader_ != nullptr) reader_->Interrupt();
}

std::string PartitionProcessor::Metadata(const SnapshotSum& snapshots) const {
  const int64_t replay = shard_->replay_offset();
  return EncodeCommitMetadata({.replay = replay,
                               .rules = shard_->rule_sets().HashAt(replay),
                               .snapshots = snapshots,
                               .applied = applied_,
                               .initial_rules = initial_rules_,
                               .owner = released_ ? "" : options_.owner});
}

Status PartitionProcessor::PollInput(int64_t timeout_ns) {
  records_.clear();
  next_record_ = 0;
  const int64_t now = clock_->MonotonicNs();
  int64_t wait = timeout_ns;
  // A pending commit shortens the wait, which may otherwise be long while ticks are paused.
  if (next_offset_ > committed_offset_ || !outputs_.dead_letters.empty())
    wait = std::min(wait, last_commit_ns_ + options_.commit_interval_ns - now);
  if (options_.clock_ticks) wait = std::min(wait, last_probe_ns_ + options_.tick_interval_ns - now);
  const Status status = reader_->Poll(options_.poll_records, options_.poll_bytes,
                                      std::max<int64_t>(wait, 0), &records_);
  for (const Record& record : records_) uncounted_bytes_ += record.value.size();
  return absl::IsDataLoss(status) ? Loss(status) : status;
}

Status PartitionProcessor::PausedRound(int64_t timeout_ns) {
  if (!paused_) {
    paused_ = true;
    PITWALL_LOG(kWarning, "processor", "partition ", partition_, ": ", account_->WhyPaused());
    if (next_offset_ > committed_offset_ && next_offset_ >= suppress_below_)
      RETURN_IF_ERROR(CommitNow(/*with_tick=*/false));
  }
  end_seen_ = -1;  // no clock tick is due until the processor reaches the end of the log again
  CountMemory();
  Publish();
  pause_->Wait(timeout_ns);
  return OkStatus();
}

void PartitionProcessor::CountMemory() {
  const int64_t now = clock_->MonotonicNs();
  if (now < count_memory_at_ && uncounted_bytes_ < kCountMemoryEveryBytes) return;
  count_memory_at_ = now + kCountMemoryEveryNs;
  uncounted_bytes_ = 0;
  memory_bytes_ = 0;
  const engine::Job* largest = nullptr;
  size_t most = 0;
  for (const engine::Job* job : shard_->jobs().All()) {
    const size_t bytes = job->MemoryBytes();
    memory_bytes_ += bytes;
    if (largest != nullptr && bytes <= most) continue;
    largest = job;
    most = bytes;
  }
  if (account_ == nullptr) return;
  LargestPart part;
  if (largest != nullptr) {
    const engine::PendingBytes& held = largest->sources().memory();
    const engine::PendingKind what = held.largest();
    part = {
        Cat("job ", Quote(largest->identity().id)), most,
        Cat(held.held(what) >> 20, " MiB of it ", engine::kHeldNames[static_cast<size_t>(what)])};
  }
  account_->Set(memory_bytes_, std::move(part));
}

Status PartitionProcessor::RunOnce(int64_t timeout_ns) {
  if (next_record_ == records_.size()) {
    CountMemory();
    if (account_ != nullptr && account_->MustPause()) return PausedRound(timeout_ns);
    if (paused_) {
      paused_ = false;
      PITWALL_LOG(kInfo, "processor", "partition ", partition_,
                  ": reading resumed because memory is available again");
    }
    RETURN_IF_ERROR(PollInput(timeout_ns));
  }
  for (; next_record_ < records_.size(); ++next_record_) {
    const Record& record = records_[next_record_];
    if (record.offset < next_offset_) return TruncatedAt(record.offset);
    if (record.offset >= suppress_below_) RETURN_IF_ERROR(Settle());
    engine::EventSink scratch;
    engine::EventSink* out = record.offset < suppress_below_ ? &scratch : &outputs_;
    if (Status applied =
            shard_->Apply(record.offset, record.append_time_ns, record.key, record.value, out);
        !applied.ok()) {
      replay_fault_offset_ = record.offset;
      return replay_fault_ = WithRemedy(std::move(applied));
    }
    if (record.offset < suppress_below_) ++replayed_;
    next_offset_ = record.offset + 1;
    if (!applied_.has_value() || record.offset > applied_->offset)
      applied_ = {record.offset, record.append_time_ns};
    // Commit events before applying the remaining records, and bound the pending dead letters.
    if (!outputs_.events.empty() || outputs_.dead_letters.size() >= kDeadLettersPerCommit) {
      ++next_record_;
      break;
    }
  }
  if (next_record_ == records_.size()) next_offset_ = std::max(next_offset_, reader_->position());
  if (next_offset_ >= suppress_below_) RETURN_IF_ERROR(Settle());

  const int64_t now = clock_->MonotonicNs();
  ASSIGN_OR_RETURN(const bool tick, TickDue(now));
  std::string wanted;
  {
    MutexLock lock(&mutex_);
    wanted = wanted_rules_;
  }
  const bool rules_due = !wanted.empty() && wanted != shard_->rule_sets().hash() &&
                         wanted != appended_rules_ && next_record_ == records_.size() &&
                         end_seen_ >= 0 && reader_->position() >= end_seen_;
  const bool moved = next_offset_ > committed_offset_;
  const bool idle_due = options_.clock_ticks && next_offset_ >= suppress_below_ &&
                        now - last_commit_ns_ >= options_.idle_commit_ns;
  if (!outputs_.events.empty() || tick || rules_due || idle_due ||
      outputs_.dead_letters.size() >= kDeadLettersPerCommit ||
      ((moved || !outputs_.dead_letters.empty()) &&
       now - last_commit_ns_ >= options_.commit_interval_ns)) {
    RETURN_IF_ERROR(CommitNow(tick));
    const std::vector<std::string> due =
        shard_->jobs().SnapshotsDue(options_.snapshot_interval_ns, options_.snapshots_per_round);
    if (!due.empty() && committed_offset_ >= suppress_below_ && next_offset_ >= suppress_below_) {
      RETURN_IF_ERROR(WriteSnapshots(due));
      RETURN_IF_ERROR(DeleteForgotten());
      Publish();
    }
  }
  return OkStatus();
}

StatusOr<bool> PartitionProcessor::TickDue(int64_t now) {
  if (last_probe_ns_ >= 0 && now - last_probe_ns_ < options_.tick_interval_ns) return false;
  const bool reached =
      end_seen_ >= 0 && next_record_ == records_.size() && reader_->position() >= end_seen_;
  if (auto end = reader_->EndOffset(); end.ok()) {
    end_seen_ = *end;
    if (*end < next_offset_) return TruncatedAt(*end);
  } else {
    end_seen_ = -1;  // the end is unknown, so no clock tick is due until it is reached again
  }
  last_probe_ns_ = now;
  return options_.clock_ticks && reached && now >= ticks_paused_until_ &&
         committed_offset_ >= suppress_below_;
}

// Replaces the largest output with a dead letter that contains the output's first bytes. Otherwise,
// an output that the log permanently rejects would block the partition. Small outputs are kept.
bool PartitionProcessor::DropLargestOutput(Commit* commit, const Status& refusal) {
  const auto largest = std::max_element(
      commit->outputs.begin(), commit->outputs.end(),
      [](const auto& a, const auto& b) { return a.value.size() < b.value.size(); });
  if (largest == commit->outputs.end()) return false;
  const std::string_view head = Utf8Prefix(largest->value, kRefusedHeadBytes);
  if (largest->topic == input_.topic || head.size() == largest->value.size()) return false;
  PITWALL_LOG(kError, "processor", "partition ", partition_, ": dropped a record of ",
              largest->value.size(), " bytes for ", largest->topic, " of job ", Quote(largest->key),
              ", which the log rejected: ", ToStd(refusal.message()));
  refusal_ = Utf8Prefix(ToStd(refusal.message()), kRefusedHeadBytes);
  OutgoingRecord letter{.topic = std::string(kDeadLetterTopic),
                        .key = largest->key,
                        .value = std::string(head),
                        .headers = {{"reason", Cat("rejected by the log: ", refusal_)},
                                    {"topic", largest->topic},
                                    {"partition", Cat(partition_)},
                                    {"original_bytes", Cat(largest->value.size())}}};
  commit->outputs.erase(largest);
  commit->outputs.push_back(std::move(letter));
  return true;
}

Status PartitionProcessor::CommitNow(bool with_tick) {
  Commit commit;
  commit.group = options_.group;
  commit.input = input_;
  // The committed offset does not change while old records are replayed.
  commit.next_offset = std::max(next_offset_, suppress_below_);
  commit.metadata = Metadata(snapshot_sum_);
  for (const IssueEvent& event : outputs_.events) {
    commit.outputs.push_back({.topic = std::string(kIssuesTopic),
                              .partition = partition_,
                              .key = event.job,
                              .value = cloudevents::EncodeCloudEvent(event),
                              .headers = {{"content-type", "application/cloudevents+json"}}});
  }
  for (const engine::DeadLetter& letter : outputs_.dead_letters) {
    commit.outputs.push_back({.topic = std::string(kDeadLetterTopic),
                              .key = letter.key,
                              .value = letter.value,
                              .headers = {{"reason", letter.reason},
                                          {"topic", input_.topic},
                                          {"partition", Cat(partition_)},
                                          {"offset", Cat(letter.offset)},
                                          {"original_bytes", Cat(letter.original_bytes)}}});
  }
  std::string wanted;
  {
    MutexLock lock(&mutex_);
    wanted = wanted_rules_;
  }
  const bool new_rules = !wanted.empty() && wanted != shard_->rule_sets().hash() &&
                         wanted != appended_rules_ && end_seen_ >= 0 &&
                         reader_->position() >= end_seen_;
  if (new_rules) {
    std::string value;
    codec::EncodeControl({.kind = ControlRecord::Kind::kRuleSetChange, .rule_set_hash = wanted},
                         &value);
    commit.outputs.push_back({.topic = input_.topic,
                              .partition = partition_,
                              .key = std::string(kControlKey),
                              .value = value});
  }
  const int64_t begin = clock_->MonotonicNs();
  if (with_tick) {
    const int64_t elapsed =
        last_tick_ns_ < 0 ? 0 : std::min(begin - last_tick_ns_, options_.max_tick_ns);
    std::string value;
    codec::EncodeControl({.kind = ControlRecord::Kind::kClockTick, .elapsed_ns = elapsed}, &value);
    commit.outputs.push_back({.topic = input_.topic,
                              .partition = partition_,
                              .key = std::string(kControlKey),
                              .value = value});
  }
  Status status = ApplyTimed(commit);
  uint64_t refused = 0;
  while (absl::IsInvalidArgument(status) && DropLargestOutput(&commit, status)) {
    ++refused;
    status = ApplyTimed(commit);
  }
  if (!status.ok()) {
    ++failed_commits_;
    Publish();
    return Annotate(status,
                    Cat("commit of partition ", partition_, " at offset ", commit.next_offset));
  }
  if (with_tick) last_tick_ns_ = begin;
  if (new_rules) appended_rules_ = wanted;
  outputs_.events.clear();
  outputs_.dead_letters.clear();
  refused_outputs_ += refused;
  committed_offset_ = commit.next_offset;
  last_commit_ns_ = clock_->MonotonicNs();
  if (end_seen_ >= 0 && committed_offset_ >= end_seen_) caught_up_ns_ = last_probe_ns_;
  ++commits_;
  Publish();
  return OkStatus();
}

// Pauses ticks after a failed or slow append, because batches from other writers may also be late.
Status PartitionProcessor::ApplyTimed(const Commit& commit) {
  const int64_t begin = clock_->MonotonicNs();
  Status status = committer_->Apply(commit);
  const int64_t end = clock_->MonotonicNs();
  const bool away = !status.ok() && !absl::IsInvalidArgument(status);
  if (away || end - begin > options_.max_tick_ns)
    ticks_paused_until_ = end + options_.outage_grace_ns;
  return status;
}

// Retries the snapshot later. Until then, a restart replays the job's records if the log has them.
void PartitionProcessor::PostponeSnapshot(const std::string& job, const Status& why) {
  unsaved_[job] = std::string(ToStd(why.message()));
  PITWALL_LOG(kError, "processor", "partition ", partition_, ": ", unsaved_[job]);
  shard_->PostponeSnapshot(job);
}

Status PartitionProcessor::WriteSnapshots(const std::vector<std::string>& jobs) {
  for (const std::string& job : jobs) {
    const engine::JobSnapshot snapshot = shard_->Snapshot(job, next_offset_);
    const StatusOr<std::vector<std::string>> chunks =
        codec::SplitSnapshot(snapshot.job, snapshot.offset, snapshot.rule_set_hash, snapshot.format,
                             snapshot.payload, options_.snapshot_limits);
    if (absl::IsResourceExhausted(chunks.status())) {
      PostponeSnapshot(job, chunks.status());
      continue;
    }
    RETURN_IF_ERROR(chunks.status());
    JobSlots slots;
    if (const auto known = slots_.find(job); known != slots_.end()) slots = known->second;
    SnapshotSum sum = snapshot_sum_;
    if (slots.offset >= 0) sum.Remove(job, slots.offset);
    sum.Add(job, snapshot.offset);
    slots.newest = 1 - slots.newest;
    slots.offset = snapshot.offset;
    Commit commit{.group = options_.group,
                  .input = input_,
                  .next_offset = committed_offset_,
                  .metadata = Metadata(sum),
                  .outputs = {}};
    for (uint32_t i = 0; i < chunks->size(); ++i) {
      commit.outputs.push_back({.topic = std::string(kStateTopic),
                                .partition = partition_,
                                .key = ChunkKey(partition_, job, slots.newest, i),
                                .value = (*chunks)[i]});
    }
    uint32_t& written = slots.chunks[slots.newest];
    for (uint32_t i = static_cast<uint32_t>(chunks->size()); i < written; ++i) {
      commit.outputs.push_back({.topic = std::string(kStateTopic),
                                .partition = partition_,
                                .key = ChunkKey(partition_, job, slots.newest, i),
                                .value = {},
                                .tombstone = true});
    }
    written = static_cast<uint32_t>(chunks->size());
    const Status saved = Annotate(ApplyTimed(commit), Cat("snapshot of job ", job));
    if (absl::IsInvalidArgument(saved)) {
      PostponeSnapshot(job, saved);
      continue;
    }
    RETURN_IF_ERROR(saved);
    unsaved_.erase(job);
    slots_[job] = slots;
    snapshot_sum_ = sum;
    shard_->SnapshotCommitted(snapshot);
    ++snapshots_;
  }
  return OkStatus();
}

Status PartitionProcessor::DeleteForgotten() {
  const std::vector<std::string> forgotten = shard_->TakeForgotten();
  if (forgotten.empty()) return OkStatus();
  Commit commit{.group = options_.group,
                .input = input_,
                .next_offset = committed_offset_,
                .metadata = {},
                .outputs = {}};
  for (const std::string& job : forgotten) {
    unsaved_.erase(job);
    const auto found = slots_.find(job);
    if (found == slots_.end()) continue;
    for (int slot = 0; slot < 2; ++slot) {
      for (uint32_t i = 0; i < found->second.chunks[slot]; ++i) {
        commit.outputs.push_back({.topic = std::string(kStateTopic),
                                  .partition = partition_,
                                  .key = ChunkKey(partition_, job, slot, i),
                                  .value = {},
                                  .tombstone = true});
      }
    }
    if (found->second.offset >= 0) snapshot_sum_.Remove(job, found->second.offset);
    slots_.erase(found);
  }
  commit.metadata = Metadata(snapshot_sum_);
  return Annotate(ApplyTimed(commit), "deleting snapshots of jobs that ended");
}

Status PartitionProcessor::Finish() {
  if (shard_ == nullptr) return OkStatus();
  RETURN_IF_ERROR(CommitNow(/*with_tick=*/false));
  if (committed_offset_ < suppress_below_ || next_offset_ < suppress_below_) return OkStatus();
  RETURN_IF_ERROR(Settle());
  RETURN_IF_ERROR(WriteSnapshots(shard_->jobs().SnapshotsDue(0, SIZE_MAX)));
  RETURN_IF_ERROR(DeleteForgotten());
  released_ = true;
  return CommitNow(/*with_tick=*/false);  // commits the offset at which the next owner starts
}

bool PartitionProcessor::CaughtUp() {
  if (next_record_ != records_.size() || !outputs_.events.empty()) return false;
  auto end = reader_->EndOffset();
  return end.ok() && reader_->position() >= *end && committed_offset_ >= next_offset_;
}

void PartitionProcessor::Publish() {
  PartitionStats stats;
  stats.partition = partition_;
  stats.counters = shard_->counters();
  stats.next_offset = committed_offset_;
  stats.end_offset = std::max(end_seen_, next_offset_);
  stats.replay_offset = shard_->replay_offset();
  stats.records_replayed = replayed_;
  stats.commits = commits_;
  stats.last_commit_ns = last_commit_ns_;
  stats.caught_up_ns = caught_up_ns_;
  stats.snapshots = snapshots_;
  stats.failed_commits = failed_commits_;
  stats.refused_outputs = refused_outputs_;
  CountMemory();
  const std::vector<const engine::Job*> jobs = shard_->jobs().All();
  for (const std::string& line : grace_watch_.Look(jobs)) PITWALL_LOG(kWarning, "processor", line);
  stats.jobs_in_grace = grace_watch_.waiting();
  for (const engine::Job* job : jobs) {
    ++stats.jobs;
    stats.live_sources += job->sources().CountLive();
    if (!job->domains().history_lost()) continue;
    if (stats.history_lost_jobs++ == 0) stats.trouble = job->identity().id;
  }
  if (paused_) {
    stats.trouble = account_->WhyPaused();
  } else if (stats.history_lost_jobs > 0) {
    stats.trouble = Cat("jobs with lost history: ", stats.history_lost_jobs, " (", stats.trouble,
                        stats.history_lost_jobs > 1 ? ", …" : "",
                        "); their rules are in Error until their windows are full");
  } else if (!unsaved_.empty()) {
    stats.trouble = Cat(unsaved_.begin()->second,
                        "; the next start rebuilds the job from the log; reduce its series");
  } else if (refused_outputs_ > 0) {
    stats.trouble = Cat(refused_outputs_, refused_outputs_ == 1 ? " record was" : " records were",
                        " dropped because the log permanently rejects them (", refusal_, ")");
  }
  stats.input_losses = input_losses_;
  stats.rebuilt_jobs = rebuilt_jobs_;
  stats.memory_bytes = memory_bytes_;
  stats.paused = paused_;
  stats.recovering = next_offset_ < suppress_below_;
  stats.rule_set_hash = shard_->rule_sets().hash();
  std::map<std::string, WatchedJob, std::less<>> watched = InspectWatched();
  MutexLock lock(&mutex_);
  stats_ = stats;
  watched_ = std::move(watched);
}

}  // namespace pitwall::processor
