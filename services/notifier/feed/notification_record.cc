#include "services/notifier/feed/notification_record.h"

#include <map>
#include <string>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/told_event.h"
#include "services/io/topics.h"

namespace pitwall::notifier {
namespace {

std::string_view WhatOf(const FeedItem& item) {
  if (item.action != nullptr)
    return item.action->action.type == ActionEventType::kRefused ? "not acted on" : "acted on";
  const EventType type = item.notice != nullptr ? item.notice->kind : item.event->type;
  return type == EventType::kIssueFound     ? "found"
         : type == EventType::kIssueUpdated ? "updated"
                                            : "ended";
}

// By job, the issues that an item is about.
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
    if (of.size() < kMaxToldIssues) of.push_back(issue.id);
  }
  return out;
}

}  // namespace

std::vector<ToldNotice> ToldOf(const FeedItem& item, std::string_view receiver,
                               std::string_view kind, std::string_view error, int64_t wall_ns) {
  std::vector<ToldNotice> out;
  if (item.states != nullptr) return out;
  const std::string& sent = item.action != nullptr   ? item.action->action.id
                            : item.notice != nullptr ? item.notice->id
                                                     : item.event->id;
  for (auto& [job, issues] : IssuesOf(item)) {
    ToldNotice told;
    told.id = StableHashHex(Cat("told\xff", kind, "\xff", receiver, "\xff", sent, "\xff", job,
                                "\xff", error.empty() ? "taken" : "failed"));
    told.job = job;
    told.issues = std::move(issues);
    told.receiver = receiver;
    told.kind = kind;
    told.what = WhatOf(item);
    told.taken = error.empty();
    told.error = error.substr(0, kMaxToldText);
    told.time_ns = wall_ns;
    out.push_back(std::move(told));
  }
  return out;
}

void NotificationRecords::Add(const std::vector<ToldNotice>& told) {
  for (const ToldNotice& one : told) {
    waiting_.push_back({.topic = std::string(kToldTopic),
                        .key = one.job,
                        .value = cloudevents::EncodeToldNotice(one)});
  }
  for (; waiting_.size() > kMaxWaiting; lost_->Add()) waiting_.pop_front();
}

Status NotificationRecords::Flush() {
  if (waiting_.empty()) return OkStatus();
  const Status known = log_->Partitions(kToldTopic).status();
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

// Drops the records that the log never takes, so that the others do not wait for them.
Status NotificationRecords::FlushOneByOne() {
  for (; !waiting_.empty(); waiting_.pop_front()) {
    const Status one = appender_->Append({waiting_.front()});
    if (one.ok()) continue;
    if (!absl::IsInvalidArgument(one)) return one;
    PITWALL_LOG(kError, "notifier", "dropped a record of job ", Quote(waiting_.front().key),
                ", which the log refuses: ", ToStd(one.message()));
    lost_->Add();
  }
  return OkStatus();
}

}  // namespace pitwall::notifier
