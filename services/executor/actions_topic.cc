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
#include "services/io/partition_scan.h"

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
  for (size_t p = 0; p < places_.size(); ++p) RETURN_IF_ERROR(Read(static_cast<int32_t>(p)));
  return OkStatus();
}

Status ActionsTopic::ReadOf(const std::set<std::string>& jobs) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Prepare());
  std::set<int32_t> partitions;
  for (const std::string& job : jobs)
    partitions.insert(PartitionOf(job, static_cast<int32_t>(places_.size())));
  for (const int32_t p : partitions) RETURN_IF_ERROR(Read(p));
  return OkStatus();
}

Status ActionsTopic::Prepare() {
  if (!places_.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(topic_));
  std::vector<Place> places(static_cast<size_t>(partitions));
  int64_t floor_ns = INT64_MIN;
  for (int32_t p = 0; p < partitions; ++p) {
    const TopicPartition at{topic_, p};
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
  places_ = std::move(places);
  return OkStatus();
}

Status ActionsTopic::Read(int32_t partition) {
  const TopicPartition at{topic_, partition};
  Place& place = places_[static_cast<size_t>(partition)];
  if (place.until >= 0) {
    const Status same = CheckLogMark(log_, at, place.until, place.mark);
    if (absl::IsFailedPrecondition(same)) return Lost(same);
    RETURN_IF_ERROR(same);
  }
  const Status read = ReadPartition(partition);
  if (place.until < 0 || place.until == place.stored) return read;
  std::string metadata = EncodeLogMark(place.mark);
  if (floor_ns_ != INT64_MIN) metadata += Cat(";", kFloorField, floor_ns_.load());
  const Status stored = log_->StorePosition(GroupOf(options_), at, {place.until, metadata});
  if (stored.ok()) {
    place.stored = place.until;
  } else {
    PITWALL_LOG(kWarning, "executor", "failed to store the position in ", topic_, "/", partition,
                ": ", ToStd(stored.message()));
  }
  return read;
}

Status ActionsTopic::ReadPartition(int32_t partition) {
  Place& place = places_[static_cast<size_t>(partition)];
  int64_t& until = place.until;
  ASSIGN_OR_RETURN(const auto reader, log_->OpenReader({topic_, partition}, until));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  const int64_t from = end - static_cast<int64_t>(max_records_);
  if (reader->position() < from) RETURN_IF_ERROR(reader->Seek(from));
  until = std::max(until, reader->position());
  // Without the earlier decisions, the executor could act twice on the same issue.
  ASSIGN_OR_RETURN(PartitionScan scan,
                   PartitionScan::Continue(reader.get(), {topic_, partition}, {.stop = &stop_}));
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr) break;
    place.mark = {record->offset, record->append_time};
    const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record->value);
    if (action.ok()) {
      index_->Record(*action);
    } else {
      PITWALL_LOG(kWarning, "executor", topic_, "/", partition, " offset ", record->offset, ": ",
                  ToStd(action.status().message()));
    }
    until = record->offset + 1;
  }
  until = std::max(until, reader->position());
  return OkStatus();
}

}  // namespace pitwall::executor
