#include "services/executor/stop_requests.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::executor {

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
  for (int32_t p = worker_; p < partitions; p += workers) {
    followers_.push_back(std::make_unique<TopicFollower>(
        clock_, log_, TopicPartition{topic_, p}, FollowerOptions{.last_offsets = kReadBack}));
  }
  open_ = true;
  return OkStatus();
}

Status StopRequests::Read(std::vector<IssueEvent>* events) {
  if (!open_) {
    const Status opened = Open();
    if (!opened.ok()) return absl::IsNotFound(opened) ? OkStatus() : opened;
  }
  for (const auto& follower : followers_) {
    FollowedRecords read;
    const Status polled = follower->Poll(Duration::Zero(), &read);
    if (!read.replaced.ok()) PITWALL_LOG(kError, "executor", ToStd(read.replaced.message()));
    for (const Record& record : read.records) Take(record, events);
    RETURN_IF_ERROR(polled);
  }
  return OkStatus();
}

void StopRequests::Take(const Record& record, std::vector<IssueEvent>* events) const {
  // The decision reader already reports undecodable records.
  const StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
  if (!action.ok() || action->type != ActionEventType::kRequested ||
      action->kind != ActionKind::kStop)
    return;
  if (action->expires.ns() <= clock_->WallNs()) {
    PITWALL_LOG(kInfo, "executor", "job ", action->job, ": the stop request from ",
                action->principal, " has expired");
    return;
  }
  events->push_back(EventOfRequest(*action));
}

}  // namespace pitwall::executor
