#include "services/executor/stop_requests.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::executor {
namespace {

constexpr size_t kPollRecords = 500;
constexpr size_t kPollBytes = 4 << 20;

}  // namespace

IssueEvent EventOfRequest(const ActionEvent& request) {
  IssueEvent event;
  event.type = EventType::kIssueFound;
  event.id = request.issue;
  event.sequence = 1;
  event.job = request.job;
  event.job_name = request.job_name;
  event.owner = request.owner;
  event.attempt = request.attempt;
  event.reference = request.target;
  event.rule = std::string(kStopRequestRule);
  event.alert = "StopRequested";
  event.labels = Labels(
      {{"action", "stop"}, {"alertname", "StopRequested"}, {"principal", request.principal}});
  event.summary = request.why;
  event.active_since = event.started_at = event.last_seen_at = event.time = request.time;
  return event;
}

Status StopRequests::Open() {
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(topic_));
  ASSIGN_OR_RETURN(const int32_t workers, log_->Partitions(workers_topic_));
  readers_.clear();
  for (int32_t p = worker_; p < partitions; p += workers) {
    ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> reader,
                     log_->OpenReader({topic_, p}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
    ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
    RETURN_IF_ERROR(reader->Seek(std::max(start, end - kReadBack)));
    readers_.push_back(std::move(reader));
  }
  open_ = true;
  return OkStatus();
}

Status StopRequests::Read(std::vector<IssueEvent>* events) {
  if (!open_) {
    const Status opened = Open();
    if (!opened.ok()) return absl::IsNotFound(opened) ? OkStatus() : opened;
  }
  for (const auto& reader : readers_) {
    const Status read = ReadFrom(reader.get(), events);
    if (read.ok()) continue;
    open_ = false;  // reopen the partitions at the last records
    return read;
  }
  return OkStatus();
}

Status StopRequests::ReadFrom(PartitionReader* reader, std::vector<IssueEvent>* events) {
  std::vector<Record> records;
  const Status polled = reader->Poll(kPollRecords, kPollBytes, Duration::Zero(), &records);
  if (!polled.ok() && !absl::IsDataLoss(polled)) return polled;
  for (const Record& record : records) {
    // The decision reader already reports undecodable records.
    const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
    if (!action.ok() || action->type != ActionEventType::kRequested ||
        action->kind != ActionKind::kStop)
      continue;
    if (action->expires.ns() <= clock_->WallNs()) {
      PITWALL_LOG(kInfo, "executor", "job ", action->job, ": the stop request from ",
                  action->principal, " has expired");
      continue;
    }
    events->push_back(EventOfRequest(*action));
  }
  return OkStatus();
}

}  // namespace pitwall::executor
