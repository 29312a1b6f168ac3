// Silences: receivers are not told of the issues that one matches, while it lasts. Topics, lists
// and the page show these issues all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/model/issues/silenced_issue.h"
#include "services/notifier/routing/issue_matchers.h"

namespace pitwall::notifier {

inline constexpr std::string_view kSilencesTopic = "pitwall.silences";

// Times are Unix nanoseconds; it holds for what happens in [starts_ns, ends_ns).
struct Silence {
  std::string id;  // 32 hex digits
  IssueMatchers matchers;
  int64_t starts_ns = 0, ends_ns = 0;
  std::string author, comment;
  int64_t created_ns = 0;
};

// JSON, as on the topic pitwall.silences and in the HTTP API.
std::string EncodeSilence(const Silence& silence);
// InvalidArgument names the key.
StatusOr<Silence> DecodeSilence(std::string_view json);
// InvalidArgument: without matchers, author or comment, it ends before it starts, or a text is too
// long.
Status CheckSilence(const Silence& silence);

// Thread-safe. Ended ones are kept for `kKeepNs`, so that a restart knows what was held back.
class SilenceSet {
 public:
  static constexpr size_t kMaxSilences = 1'000;  // not ended
  static constexpr int64_t kKeepNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
  static constexpr int64_t kNever = INT64_MAX;

  void Put(Silence silence);  // replaces one of the same id
  void Remove(std::string_view id);
  std::vector<Silence> List() const;  // by start, then id
  size_t size() const;
  // Changes with each Put and Remove.
  uint64_t version() const;

  // When the silences end that hold for the issue at that time: at or before `time_ns` when none
  // does. Silences that follow each other without a gap count as one.
  int64_t SilencedUntil(const IssueEvent& event, int64_t time_ns) const;
  bool Holds(const IssueEvent& event, int64_t time_ns) const {
    return SilencedUntil(event, time_ns) > time_ns;
  }
  // The silences that hold for it at that time.
  std::vector<Silence> Holding(const IssueEvent& event, int64_t time_ns) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Silence, std::less<>> silences_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

// By whom an open issue is silenced at that time, and until when; nothing: it is not, or has ended.
std::optional<SilencedIssue> SilencedBy(const SilenceSet& silences, const IssueEvent& event,
                                        int64_t wall_ns);

}  // namespace pitwall::notifier
