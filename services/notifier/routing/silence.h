// Silences. While a silence is active, receivers do not get notifications about the matching
// issues. Topics, lists, and the web page still show these issues.
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

// Times are Unix nanoseconds. A silence is active in [starts_ns, ends_ns).
struct Silence {
  std::string id;  // 32 hexadecimal digits
  IssueMatchers matchers;
  int64_t starts_ns = 0, ends_ns = 0;
  std::string author, comment;
  int64_t created_ns = 0;
};

// Encodes the silence as JSON, the format used in the topic pitwall.silences and the HTTP API.
std::string EncodeSilence(const Silence& silence);
// Decodes a silence. An InvalidArgument error contains the key.
StatusOr<Silence> DecodeSilence(std::string_view json);
// Returns InvalidArgument if the matchers, author, or comment is missing, if a field is too long,
// or if the silence ends before it starts.
Status CheckSilence(const Silence& silence);

// Thread-safe. Keeps ended silences for `kKeepNs`, so that a restarted notifier can determine which
// events were suppressed.
class SilenceSet {
 public:
  static constexpr size_t kMaxSilences = 1'000;  // does not count ended silences
  static constexpr int64_t kKeepNs = int64_t{7} * 24 * 3600 * 1'000'000'000;
  static constexpr int64_t kNever = INT64_MAX;

  void Put(Silence silence);  // replaces a silence with the same ID
  void Remove(std::string_view id);
  std::vector<Silence> List() const;  // sorted by start time, then by ID
  size_t size() const;
  // Returns a number that changes with every Put and Remove.
  uint64_t version() const;

  // Returns the time until which the issue is silenced at `time_ns`. The result is at most
  // `time_ns` if the issue is not silenced. Silences without a gap between them count as one.
  int64_t SilencedUntil(const IssueEvent& event, int64_t time_ns) const;
  bool Holds(const IssueEvent& event, int64_t time_ns) const {
    return SilencedUntil(event, time_ns) > time_ns;
  }
  // Returns the silences that apply to the issue at `time_ns`.
  std::vector<Silence> Holding(const IssueEvent& event, int64_t time_ns) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Silence, std::less<>> silences_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns the author and end time of the silence that applies to an open issue at `wall_ns`.
// Returns nullopt if the issue is not silenced or has ended.
std::optional<SilencedIssue> SilencedBy(const SilenceSet& silences, const IssueEvent& event,
                                        int64_t wall_ns);

}  // namespace pitwall::notifier
