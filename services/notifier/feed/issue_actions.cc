#include "services/notifier/feed/issue_actions.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/log_fingerprint.h"
#include "services/io/partition_scan.h"
#include "services/notifier/receivers/action_notice.h"

namespace pitwall::notifier {
namespace {

constexpr int64_t kOpenIntervalNs = 5 * kNanosPerSecond;
constexpr size_t kPollRecords = 1'000;
constexpr size_t kPollBytes = size_t{4} << 20;

}  // namespace

IssueActions::IssueActions(Clock* clock, Log* log, std::string topic, size_t max_acts)
    : clock_(clock),
      log_(log),
      topic_(std::move(topic)),
      max_acts_(std::max<size_t>(1, max_acts)) {}

Status IssueActions::Open() {
  if (!readers_.empty() || clock_->MonotonicNs() < open_again_ns_) return OkStatus();
  open_again_ns_ = clock_->MonotonicNs() + kOpenIntervalNs;
  const StatusOr<int32_t> partitions = log_->Partitions(topic_);
  if (!partitions.ok())
    return OkStatus();  // retry later: the topic does not exist yet, or the log is unreachable
  std::vector<std::unique_ptr<PartitionReader>> readers;
  Positions next;
  for (int32_t p = 0; p < *partitions; ++p) {
    ASSIGN_OR_RETURN(auto reader, log_->OpenReader({topic_, p}, kFromStart));
    ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
    ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
    const int64_t from = std::max(start, end - static_cast<int64_t>(max_acts_));
    RETURN_IF_ERROR(reader->Seek(from));
    next.push_back(from);
    readers.push_back(std::move(reader));
  }
  readers_ = std::move(readers);
  MutexLock lock(&mutex_);
  next_ = std::move(next);
  return OkStatus();
}

Status IssueActions::ReadAll() {
  RETURN_IF_ERROR(Open());
  for (size_t p = 0; p < readers_.size(); ++p) {
    const auto partition = static_cast<int32_t>(p);
    ASSIGN_OR_RETURN(
        PartitionScan scan,
        PartitionScan::Continue(readers_[p].get(), {topic_, partition},
                                {.poll_timeout = Duration::Millis(200), .max_silent_polls = 50}));
    // An error must not discard records that the reader has already passed.
    while (true) {
      ASSIGN_OR_RETURN(Record* const record, scan.Next());
      if (record == nullptr) break;
      const int64_t next = record->offset + 1;
      Take({std::move(*record)}, partition, next);
    }
    Take({}, partition, readers_[p]->position());
  }
  return OkStatus();
}

Status IssueActions::ReadNew() {
  RETURN_IF_ERROR(Open());
  const int64_t now = clock_->MonotonicNs();
  const bool look = now >= look_again_ns_;
  if (look) look_again_ns_ = now + kNanosPerSecond;
  for (size_t p = 0; p < readers_.size(); ++p) {
    std::vector<Record> records;
    const int64_t before = readers_[p]->position();
    const Status polled = readers_[p]->Poll(kPollRecords, kPollBytes, Duration::Zero(), &records);
    if (!polled.ok() && polled.code() != absl::StatusCode::kDataLoss) return polled;
    bool replaced = readers_[p]->position() < before;
    if (!replaced && look && records.empty()) {
      ASSIGN_OR_RETURN(const int64_t end, readers_[p]->EndOffset());
      replaced = end < readers_[p]->position();
    }
    if (replaced) {
      RETURN_IF_ERROR(Restart(static_cast<int32_t>(p)));
    } else if (!records.empty()) {
      Take(records, static_cast<int32_t>(p), readers_[p]->position());
    }
  }
  return OkStatus();
}

Status IssueActions::Restart(int32_t partition) {
  PartitionReader& reader = *readers_[static_cast<size_t>(partition)];
  const int64_t lost_at = reader.position();
  RETURN_IF_ERROR(reader.Seek(kFromStart));
  ++resets_;
  const Status reset = LogWasReplaced(
      {topic_, partition}, Cat("the position was ", lost_at, "; reading from the start"));
  PITWALL_LOG(kError, "notifier", ToStd(reset.message()));
  MutexLock lock(&mutex_);
  // All actions from the old log have been sent, so their positions must precede every offset in
  // the new log.
  for (Act& act : acts_) {
    if (act.partition == partition) act.offset = -1;
  }
  next_[static_cast<size_t>(partition)] = reader.position();
  return OkStatus();
}

void IssueActions::Take(const std::vector<Record>& records, int32_t partition, int64_t next) {
  MutexLock lock(&mutex_);
  bool fresh = false;
  for (const Record& record : records) {
    StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
    if (!action.ok()) {
      PITWALL_LOG(kWarning, "notifier", topic_, "/", partition, " offset ", record.offset, ": ",
                  ToStd(action.status().message()));
      continue;
    }
    if (!ids_.insert(action->id).second) continue;
    const auto event = std::make_shared<const ActionEvent>(*std::move(action));
    Issue& issue = issues_[event->issue];
    const bool first = IsLiveAct(*event) && !issue.acted;
    issue.acted |= first;
    ++issue.acts;
    if (IsSelected(*event, ActionFilter::kLive)) issue.newest = event;
    acts_.push_back({partition, record.offset, event, first});
    fresh = true;
    if (acts_.size() > max_acts_) Forget();
  }
  next_[static_cast<size_t>(partition)] = next;
  if (!fresh) return;
  for (Wakeup* listener : listeners_) listener->Wake();
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
