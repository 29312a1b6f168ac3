// Index of issues from all jobs. Keeps all open issues, and keeps ended issues for a limited time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/io/issue_source.h"
#include "services/notifier/feed/resume_token.h"

namespace pitwall::notifier {

struct IssueIndexLimits {
  size_t max_open = 20'000;
  size_t max_ended = 5'000;
  int64_t ended_age_ns =
      0;  // maximum age of an ended issue in event time, relative to the newest event
  int64_t open_age_ns = 0;  // maximum event time since the last event of an open issue
  size_t max_events_per_issue = 64;
  size_t max_events =
      50'000;  // limit across all issues; above it, an issue keeps only its first and last events
};

struct IssueIndexStats {
  size_t open = 0;
  size_t ended = 0;
  uint64_t open_forgotten = 0;  // open issues that were dropped because of the count or age limit
  int64_t newest_time_ns = 0;
};

// Thread-safe. Expects the events of an issue in sequence order. Ignores duplicates.
class IssueIndex {
 public:
  explicit IssueIndex(IssueIndexLimits limits);
  ~IssueIndex();

  void Apply(const IssueEventPtr& event);

  // Returns the last event of each matching issue, newest issue first. If `after` is given, starts
  // with the issue that follows `after`. Sets *more to true if more than `max` issues match.
  std::vector<IssueEventPtr> List(const IssueFilter& filter, bool include_ended,
                                  const PageCursor* after, size_t max, bool* more) const;
  // Returns all events of the issue that the given event belongs to, oldest first. Returns an empty
  // list if the event is unknown.
  std::vector<IssueEventPtr> Events(std::string_view event_id) const;
  // Finds the events of an issue by its ID or a unique prefix of its ID. Returns NotFound if no
  // issue matches, and InvalidArgument if the prefix is ambiguous.
  StatusOr<std::vector<IssueEventPtr>> Find(std::string_view id) const;
  // Returns the number of open issues by (rule, severity).
  std::map<std::pair<std::string, std::string>, size_t> OpenCounts() const;
  IssueIndexStats stats() const;

 private:
  struct Issue;
  using AgeKey = std::pair<int64_t, std::string>;  // (event time of the last event, issue ID)

  void Forget(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Trim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const IssueIndexLimits limits_;
  mutable Mutex mutex_;
  StringMap<std::unique_ptr<Issue>> issues_ ABSL_GUARDED_BY(mutex_);
  StringMap<std::string> issue_of_event_ ABSL_GUARDED_BY(mutex_);
  // Newest issue first. The key is (-active_since, ID).
  std::map<std::pair<int64_t, std::string>, Issue*> order_ ABSL_GUARDED_BY(mutex_);
  std::set<AgeKey> open_by_age_ ABSL_GUARDED_BY(mutex_);
  std::set<AgeKey> ended_by_age_ ABSL_GUARDED_BY(mutex_);
  uint64_t open_forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t newest_time_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace pitwall::notifier
