#include "services/notifier/feed/notification_writer.h"

#include <map>
#include <string>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/notification_event.h"
#include "services/io/topics.h"

namespace pitwall::notifier {
namespace {

std::string_view VerbOf(const FeedItem& item) {
  if (item.action != nullptr)
    return item.action->action.type == ActionEventType::kRefused ? "not acted on" : "acted on";
  const EventType type = item.notice != nullptr ? item.notice->kind : item.event->type;
  return type == EventType::kIssueFound     ? "found"
         : type == EventType::kIssueUpdated ? "updated"
                                            : "ended";
}

// Returns the issues in the item, grouped by job.
std::map<std::string, std::vector<std::string>> IssuesOf(const FeedItem& item) {
  std::map<std::string, std::vector<std::string>> out;
  if (item.action != nullptr) {
    const ActionEvent& action = item.action->action;
    if (!IsRequest(action)) out[action.job] = {action.issue};
    return out;
  }
  if (item.notice == nullptr) {
    const IssueEvent& event = *item.event;
    if (event.type != EventType::kRuleStatus && event.type != EventType::kJobChanged)
      out[event.job] = {IssueId(event)};
    return out;
  }
  for (const NoticeIssue& issue : item.notice->issues) {
    std::vector<std::string>& of = out[issue.event->job];
    if (of.size() < kMaxNotificationIssues) of.push_back(issue.id);
  }
  return out;
}

}  // namespace

std::vector<NotificationRecord> NotificationRecordsOf(const FeedItem& item,
                                                      std::string_view receiver,
                                                      std::string_view kind, std::string_view error,
                                                      int64_t wall_ns) {
  std::vector<NotificationRecord> out;
  if (item.states != nullptr) return out;
  const std::string& sent = item.action != nullptr   ? item.action->action.id
                            : item.notice != nullptr ? item.notice->id
                                                     : item.event->id;
  for (auto& [job, issues] : IssuesOf(item)) {
    NotificationRecord record;
    record.id = StableHashHex(Cat("notification\xff", kind, "\xff", receiver, "\xff", sent, "\xff",
                                  job, "\xff", error.empty() ? "taken" : "failed"));
    record.job = job;
    record.issues = std::move(issues);
    record.receiver = receiver;
    record.kind = kind;
    record.what = VerbOf(item);
    record.taken = error.empty();
    record.error = error.substr(0, kMaxNotificationError);
    record.time = EventTime::FromNs(wall_ns);
    out.push_back(std::move(record));
  }
  return out;
}

void NotificationWriter::Add(const std::vector<NotificationRecord>& records) {
  for (const NotificationRecord& one : records) {
    waiting_.push_back({.topic = std::string(kNotificationsTopic),
                        .key = one.job,
                        .value = cloudevents::EncodeNotification(one)});
  }
  for (; waiting_.size() > kMaxWaiting; lost_->Add()) waiting_.pop_front();
}

Status NotificationWriter::Flush() {
  if (waiting_.empty()) return OkStatus();
  const Status known = log_->Partitions(kNotificationsTopic).status();
  if (absl::IsNotFound(known)) {
    waiting_.clear();
    return OkStatus();
  }
  RETURN_IF_ERROR(known);
  if (appender_ == nullptr) {
    ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
  }
  const Status all = appender_->Append({waiting_.begin(), waiting_.end()});
  if (absl::IsInvalidArgument(all)) return FlushOneByOne();
  RETURN_IF_ERROR(all);
  waiting_.clear();
  return OkStatus();
}

// Appends the records individually and drops records that the log rejects, so that they do not
// block other records.
Status NotificationWriter::FlushOneByOne() {
  for (; !waiting_.empty(); waiting_.pop_front()) {
    const Status one = appender_->Append({waiting_.front()});
    if (one.ok()) continue;
    if (!absl::IsInvalidArgument(one)) return one;
    PITWALL_LOG(kError, "notifier", "dropped a record of job ", Quote(waiting_.front().key),
                ", which the log rejected: ", ToStd(one.message()));
    lost_->Add();
  }
  return OkStatus();
}

}  // namespace pitwall::notifier
