#include "services/processor/published_issues.h"

#include <algorithm>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/partition_scan.h"
#include "services/io/topics.h"

namespace pitwall::processor {

namespace {

void SetStatus(RuleStatus status, std::string_view reason, EventTime time, IssueEvent* event) {
  event->type = EventType::kRuleStatus;
  event->previous_status = event->status;
  event->status = status;
  event->status_reason = std::string(reason);
  event->time = std::max(event->time, time);
  event->active_since = event->time;
  event->sequence = static_cast<uint64_t>(status);
  // Two events of the same type may share a tick, so the reason distinguishes them.
  event->labels = Labels({{"reason", std::string(reason)}});
  event->id = MakeEventId(*event);
  event->labels = Labels();
}

}  // namespace

StatusOr<PublishedIssues> PublishedIssues::Read(Log* log, int32_t partition) {
  ASSIGN_OR_RETURN(
      PartitionScan scan,
      PartitionScan::Open(log, {std::string(kIssuesTopic), partition}, kFromStart,
                          {.on_loss = [](const Status& lost) {
                            PITWALL_LOG(kError, "processor",
                                        "cannot decode a published event: ", ToStd(lost.message()));
                          }}));
  PublishedIssues published;
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr) break;
    StatusOr<IssueEvent> event = cloudevents::DecodeCloudEvent(record->value);
    if (!event.ok()) continue;
    if (event->type == EventType::kRuleStatus) {
      if (event->status == RuleStatus::kStopped) {
        published.statuses_[event->job].erase(event->rule);
      } else {
        published.statuses_[event->job].insert_or_assign(event->rule, *event);
      }
    } else if (event->type == EventType::kJobChanged) {
      if (event->job_change == JobChange::kEnded) published.statuses_.erase(event->job);
    } else if (event->type == EventType::kIssueResolved) {
      published.open_[event->job].erase(IssueKey(*event));
    } else if (event->type == EventType::kIssueFound || event->type == EventType::kIssueUpdated) {
      std::string key = IssueKey(*event);
      published.open_[event->job].insert_or_assign(std::move(key), *std::move(event));
    }
  }
  std::erase_if(published.open_, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(published.statuses_, [](const auto& entry) { return entry.second.empty(); });
  return published;
}

std::vector<std::string> PublishedIssues::Jobs() const {
  std::vector<std::string> jobs;
  for (const auto& [job, issues] : open_) jobs.push_back(job);
  for (const auto& [job, statuses] : statuses_) jobs.push_back(job);
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

void PublishedIssues::EndIssues(const std::string& job, EventTime time,
                                std::vector<IssueEvent>* out) const {
  const auto found = open_.find(job);
  if (found == open_.end()) return;
  for (const auto& [key, last] : found->second) {
    IssueEvent end = last;
    end.type = EventType::kIssueResolved;
    end.time = std::max(time, last.time);
    end.ended_at = end.time;
    end.end_reason = EndReason::kNoData;
    end.evidence.clear();
    ++end.sequence;
    end.id = MakeEventId(end);
    out->push_back(std::move(end));
  }
}

void PublishedIssues::StopRules(const std::string& job, std::string_view reason,
                                std::vector<IssueEvent>* out) const {
  const auto found = statuses_.find(job);
  if (found == statuses_.end()) return;
  for (const auto& [rule, last] : found->second) {
    IssueEvent event = last;
    SetStatus(RuleStatus::kStopped, reason, last.time, &event);
    out->push_back(std::move(event));
  }
}

void PublishedIssues::EmitStatuses(const engine::Job& job, std::vector<IssueEvent>* out) const {
  const auto published = statuses_.find(job.state().identity.id);
  for (const engine::RuleStatusNow& now : engine::StatusesOf(job.state().domains())) {
    if (now.status == RuleStatus::kUnknown) continue;
    IssueEvent event;
    event.job = job.state().identity.id;
    event.job_name = job.state().identity.name;
    event.reference = job.state().identity.reference;
    event.rule = now.rule->name;
    event.alert = now.rule->alert;
    if (published != statuses_.end()) {
      const auto last = published->second.find(now.rule->name);
      if (last != published->second.end()) {
        if (last->second.status == now.status) continue;
        event = last->second;
      }
    }
    event.attempt = job.state().lifecycle.attempt();
    SetStatus(now.status, now.reason, job.state().clock.watermark(), &event);
    out->push_back(std::move(event));
  }
}

}  // namespace pitwall::processor
