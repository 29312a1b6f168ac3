#include "services/notifier/feed/issue_actions.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/notifier/receivers/action_notice.h"

namespace pitwall::notifier {
namespace {

constexpr int64_t kOpenIntervalNs = 5 * kNanosPerSecond;
constexpr size_t kPollRecords = 1'000;

}  // namespace

IssueActions::IssueActions(Clock* clock, Log* log, std::string topic, size_t max_acts)
    : clock_(clock),
      log_(log),
      topic_(std::move(topic)),
      max_acts_(std::max<size_t>(1, max_acts)) {}

Status IssueActions::Open() {
  if (!followers_.empty() || clock_->MonotonicNs() < open_again_ns_) return OkStatus();
  open_again_ns_ = clock_->MonotonicNs() + kOpenIntervalNs;
  const StatusOr<int32_t> partitions = log_->Partitions(topic_);
  if (!partitions.ok())
    return OkStatus();  // retry later: the topic does not exist yet, or the log is unreachable
  std::vector<std::unique_ptr<TopicFollower>> followers;
  Positions next;
  const FollowerOptions options{.last_offsets = static_cast<int64_t>(max_acts_),
                                .max_records = kPollRecords,
                                .check_interval = Duration::Seconds(1)};
  for (int32_t p = 0; p < *partitions; ++p) {
    auto follower =
        std::make_unique<TopicFollower>(clock_, log_, TopicPartition{topic_, p}, options);
    RETURN_IF_ERROR(follower->Open());
    next.push_back(follower->position());
    followers.push_back(std::move(follower));
  }
  followers_ = std::move(followers);
  MutexLock lock(&mutex_);
  next_ = std::move(next);
  return OkStatus();
}

Status IssueActions::ReadAll() {
  RETURN_IF_ERROR(Open());
  for (const auto& follower : followers_) {
    RETURN_IF_ERROR(follower->ReadToEnd([&](FollowedRecords* read) {
      Take(*read, *follower);
      return OkStatus();
    }));
    Take({}, *follower);
  }
  return OkStatus();
}

Status IssueActions::ReadNew() {
  RETURN_IF_ERROR(Open());
  for (const auto& follower : followers_) {
    FollowedRecords read;
    const Status polled = follower->Poll(Duration::Zero(), &read);
    if (!read.records.empty() || !read.replaced.ok()) Take(read, *follower);
    RETURN_IF_ERROR(polled);
  }
  return OkStatus();
}

void IssueActions::Take(const FollowedRecords& read, const TopicFollower& follower) {
  const int32_t partition = follower.at().partition;
  MutexLock lock(&mutex_);
  if (!read.replaced.ok()) {
    PITWALL_LOG(kError, "notifier", ToStd(read.replaced.message()));
    ++resets_;
    // All actions from the old log have been sent, so their positions must precede every offset in
    // the new log.
    for (Act& act : acts_) {
      if (act.partition == partition) act.offset = -1;
    }
  }
  bool fresh = false;
  for (const Record& record : read.records) Add(record, partition, &fresh);
  next_[static_cast<size_t>(partition)] = follower.position();
  if (!fresh) return;
  for (Wakeup* listener : listeners_) listener->Wake();
}

void IssueActions::Add(const Record& record, int32_t partition, bool* fresh) {
  StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
  if (!action.ok()) {
    PITWALL_LOG(kWarning, "notifier", topic_, "/", partition, " offset ", record.offset, ": ",
                ToStd(action.status().message()));
    return;
  }
  if (!ids_.insert(action->id).second) return;
  const auto event = std::make_shared<const ActionEvent>(*std::move(action));
  Issue& issue = issues_[event->issue];
  const bool first = IsLiveAct(*event) && !issue.acted;
  issue.acted |= first;
  ++issue.acts;
  if (IsSelected(*event, ActionFilter::kLive)) issue.newest = event;
  acts_.push_back({partition, record.offset, event, first});
  *fresh = true;
  if (acts_.size() > max_acts_) Forget();
}

void IssueActions::Forget() {
  const ActionEvent& oldest = *acts_.front().action;
  ids_.erase(oldest.id);
  if (const auto at = issues_.find(oldest.issue); --at->second.acts == 0) issues_.erase(at);
  acts_.pop_front();
}

bool IssueActions::Has(std::string_view issue) const {
  MutexLock lock(&mutex_);
  const auto at = issues_.find(std::string(issue));
  return at != issues_.end() && at->second.acted;
}

std::string IssueActions::Text(std::string_view issue) const {
  MutexLock lock(&mutex_);
  const auto at = issues_.find(std::string(issue));
  return at == issues_.end() || at->second.newest == nullptr ? "" : ActionText(*at->second.newest);
}

std::vector<IssueActions::Act> IssueActions::Since(const Positions& from) const {
  std::vector<Act> out;
  MutexLock lock(&mutex_);
  for (const Act& act : acts_) {
    const auto p = static_cast<size_t>(act.partition);
    if (p >= from.size() || act.offset >= from[p]) out.push_back(act);
  }
  return out;
}

Positions IssueActions::Next() const {
  MutexLock lock(&mutex_);
  return next_;
}

void IssueActions::Listen(Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  listeners_.insert(wakeup);
}

void IssueActions::Unlisten(Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  listeners_.erase(wakeup);
}

}  // namespace pitwall::notifier
