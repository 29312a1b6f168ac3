#include "services/executor/actions_topic.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::executor {

namespace {

constexpr std::string_view kFloorField = "floor=";

// Returns the event time up to which issues may have been decided in a lost log, or INT64_MIN
// if no log was lost.
int64_t ParseFloor(std::string_view metadata) {
  for (const std::string_view field : Split(metadata, ';')) {
    if (!StartsWith(field, kFloorField)) continue;
    return ParseInt(field.substr(kFloorField.size())).value_or(INT64_MIN);
  }
  return INT64_MIN;
}

std::string GroupOf(const ExecutorOptions& options) {
  return Cat(options.group, "-", options.node);
}

Status Lost(const Status& why) {
  return FailedPrecondition(
      Cat(ToStd(why.message()),
          "; earlier decisions may be lost, so the executor takes no action; restore the topic, "
          "or start once with --accept-log-reset to ignore all issues that began before then"));
}

}  // namespace

Status ActionsTopic::ReadAll() {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Prepare());
  for (Partition& partition : partitions_) RETURN_IF_ERROR(Read(&partition));
  return OkStatus();
}

Status ActionsTopic::ReadOf(const std::set<std::string>& jobs) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Prepare());
  std::set<int32_t> partitions;
  for (const std::string& job : jobs)
    partitions.insert(PartitionOf(job, static_cast<int32_t>(partitions_.size())));
  for (const int32_t p : partitions) RETURN_IF_ERROR(Read(&partitions_[static_cast<size_t>(p)]));
  return OkStatus();
}

Status ActionsTopic::Prepare() {
  if (!partitions_.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const int32_t count, log_->Partitions(topic_));
  const FollowerOptions options{.last_offsets = static_cast<int64_t>(max_records_),
                                .resume = FollowerOptions::Resume::kNever,
                                .max_records = 1'000,
                                .max_bytes = size_t{8} << 20,
                                .open_interval = Duration::Zero()};
  std::vector<Partition> partitions;
  int64_t floor_ns = INT64_MIN;
  for (int32_t p = 0; p < count; ++p) {
    const TopicPartition at{topic_, p};
    partitions.push_back({.follower = std::make_unique<TopicFollower>(clock_, log_, at, options)});
    ASSIGN_OR_RETURN(const std::optional<CommittedOffset> read,
                     log_->Committed(GroupOf(options_), at));
    if (!read.has_value()) continue;
    floor_ns = std::max(floor_ns, ParseFloor(read->metadata));
    const Status same = CheckLogMark(log_, at, read->offset, ParseLogMark(read->metadata));
    if (same.ok()) continue;
    if (!absl::IsFailedPrecondition(same)) return same;
    if (!options_.accept_log_reset) return Lost(same);
    floor_ns = std::max(floor_ns, clock_->WallNs());
    PITWALL_LOG(kWarning, "executor", "log reset accepted: ", ToStd(same.message()),
                "; ignoring issues that began earlier");
  }
  floor_ns_ = floor_ns;
  partitions_ = std::move(partitions);
  return OkStatus();
}

Status ActionsTopic::Read(Partition* partition) {
  TopicFollower& follower = *partition->follower;
  // Compares the log with the mark before each read. Without the earlier decisions, the executor
  // could act twice on the same issue.
  if (follower.is_open()) follower.Restart(follower.position(), follower.mark());
  const auto take = [&](FollowedRecords* read) {
    for (const Record& record : read->records) AddDecision(follower.at(), record);
    return OkStatus();
  };
  const Status read = follower.ReadToEnd(take, &stop_);
  if (absl::IsFailedPrecondition(read)) return Lost(read);
  if (follower.is_open() && follower.position() != partition->stored) StorePosition(partition);
  return read;
}

void ActionsTopic::StorePosition(Partition* partition) {
  const TopicFollower& follower = *partition->follower;
  const TopicPartition& at = follower.at();
  std::string metadata = EncodeLogMark(follower.mark());
  if (floor_ns_ != INT64_MIN) metadata += Cat(";", kFloorField, floor_ns_.load());
  const Status stored = log_->StorePosition(GroupOf(options_), at, {follower.position(), metadata});
  if (stored.ok()) {
    partition->stored = follower.position();
  } else {
    PITWALL_LOG(kWarning, "executor", "failed to store the position in ", topic_, "/", at.partition,
                ": ", ToStd(stored.message()));
  }
}

void ActionsTopic::AddDecision(const TopicPartition& at, const Record& record) {
  const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
  if (action.ok()) {
    index_->Record(*action);
  } else {
    PITWALL_LOG(kWarning, "executor", topic_, "/", at.partition, " offset ", record.offset, ": ",
                ToStd(action.status().message()));
  }
}

}  // namespace pitwall::executor
