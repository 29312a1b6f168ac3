// Stream of history changes as server-sent events (docs/api.md, "Server-sent events").
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/history/history.h"

namespace pitwall::history {

// Names of topics in the API, by Change::Topic.
inline constexpr std::array<std::string_view, 7> kTopicNames = {
    "job", "samples", "issue", "status", "action", "capture", "notification"};

struct ChangeFilter {
  std::set<std::string, std::less<>> jobs;  // job IDs; if empty, all jobs are selected
  std::set<Change::Topic> topics;           // if empty, all topics are selected
};

// Event stream for one client. It buffers only the newest sample time per job, for half a second.
// Changes that the client has not read stay in the history. If the history has dropped some of
// them, the client gets a resync event.
class ChangeStream final : public http::ResponseStream {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 10;  // limit per Pull; one event may exceed it
  static constexpr int64_t kHeartbeatNs = 15 * kNanosPerSecond;
  static constexpr int64_t kSamplesEveryNs = kNanosPerSecond / 2;

  // The stream starts with the first change after `place`.
  ChangeStream(const History* history, const Clock* clock, ChangeFilter filter, uint64_t place);

  std::string Pull() override;
  bool over() const override { return false; }
  std::string Farewell() override;

 private:
  bool Wants(const Change& change) const;
  void Take(const Change& change, std::string* out);
  void FlushSamples(std::string* out);
  void Write(const Change& change, std::string* out) const;
  // Writes the position as an ID without data, so that the client can resume from there.
  void WritePlace(std::string* out) const;

  const History* const history_;
  const Clock* const clock_;
  const ChangeFilter filter_;
  uint64_t place_;
  bool greeted_ = false;
  int64_t last_sent_ns_ = 0;               // monotonic time
  int64_t samples_sent_ns_ = 0;            // monotonic time
  std::map<std::string, Change> samples_;  // newest unsent change of each job
};

}  // namespace pitwall::history
