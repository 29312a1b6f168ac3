// Changes of the history as server-sent events: docs/api.md, "Server-sent events".
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/clock.h"
#include "services/history/history.h"

namespace pitwall::history {

struct ChangeFilter {
  std::set<std::string, std::less<>> jobs;  // ids; empty: all
  std::set<Change::Topic> topics;           // empty: all
};

// One client's. Holds no changes but the newest samples of each job, for half a second: what the
// client does not take stays in the history, and is a resync when it is no longer kept there.
class ChangeStream final : public http::ResponseStream {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 10;  // of one Pull, one event beyond
  static constexpr int64_t kHeartbeatNs = 15 * kNanosPerSecond;
  static constexpr int64_t kSamplesEveryNs = kNanosPerSecond / 2;

  // Begins right after `place`.
  ChangeStream(const History* history, const Clock* clock, ChangeFilter filter, uint64_t place);

  std::string Pull() override;
  bool over() const override { return false; }
  std::string Farewell() override;

 private:
  bool Wants(const Change& change) const;
  void Take(const Change& change, std::string* out);
  void FlushSamples(std::string* out);
  void Write(const Change& change, std::string* out) const;
  // The place as an id alone, for the client to come back with.
  void WritePlace(std::string* out) const;

  const History* const history_;
  const Clock* const clock_;
  const ChangeFilter filter_;
  uint64_t place_;
  bool greeted_ = false;
  int64_t last_sent_ns_ = 0;               // monotonic
  int64_t samples_sent_ns_ = 0;            // monotonic
  std::map<std::string, Change> samples_;  // newest of each job, not yet sent
};

}  // namespace pitwall::history
