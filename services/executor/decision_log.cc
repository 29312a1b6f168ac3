#include "services/executor/decision_log.h"

#include <algorithm>
#include <memory>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/stable_hash.h"
#include "services/base/strings.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::executor {

Status DecisionLog::ReadAll() {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Prepare());
  for (size_t p = 0; p < read_until_.size(); ++p) RETURN_IF_ERROR(Read(static_cast<int32_t>(p)));
  return OkStatus();
}

Status DecisionLog::ReadOf(const std::set<std::string>& jobs) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Prepare());
  std::set<int32_t> partitions;
  for (const std::string& job : jobs)
    partitions.insert(PartitionOf(job, static_cast<int32_t>(read_until_.size())));
  for (const int32_t p : partitions) RETURN_IF_ERROR(Read(p));
  return OkStatus();
}

Status DecisionLog::Prepare() {
  if (!read_until_.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(topic_));
  read_until_.assign(static_cast<size_t>(partitions), kFromStart);
  return OkStatus();
}

Status DecisionLog::Read(int32_t partition) {
  int64_t& until = read_until_[static_cast<size_t>(partition)];
  ASSIGN_OR_RETURN(const auto reader, log_->OpenReader({topic_, partition}, until));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  const int64_t from = end - static_cast<int64_t>(max_records_);
  if (reader->position() < from) RETURN_IF_ERROR(reader->Seek(from));
  std::vector<Record> records;
  int silent = 0;
  while (reader->position() < end) {
    if (stop_) return Unavailable(Cat(topic_, ": stopped while decisions were read"));
    records.clear();
    Status polled = reader->Poll(1'000, size_t{4} << 20, kNanosPerSecond, &records);
    if (!polled.ok() && polled.code() != absl::StatusCode::kDataLoss) return polled;
    // To act without knowing what was decided would break the one promise that matters.
    silent = records.empty() ? silent + 1 : 0;
    if (silent > 30) {
      return Unavailable(Cat(topic_, "/", partition, " ends at ", end,
                             " but nothing can be read from ", reader->position()));
    }
    for (const Record& record : records) {
      const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
      if (action.ok()) {
        book_->Record(*action);
      } else {
        PITWALL_LOG(kWarning, "executor", topic_, "/", partition, " offset ", record.offset, ": ",
                    ToStd(action.status().message()));
      }
    }
    until = reader->position();
  }
  return OkStatus();
}

}  // namespace pitwall::executor
