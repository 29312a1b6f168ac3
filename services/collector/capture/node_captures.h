// Captures of ranks on this node. Each capture takes two samples, kCaptureGapNs apart, from the
// client in the process and from the system.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/collector/capture/capture_state_series.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/processes/process_watch.h"
#include "services/collector/readers/monotonic_event_clock.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

struct NodeCapturesOptions {
  std::string node;
  std::string root = "/";  // parent of /proc
  // Receives each rank's result on the socket thread. Must not block.
  std::function<void(RankCapture)> deliver;
  // Sends a client's request to all collectors. Must not block. If null, clients cannot request
  // captures.
  std::function<Status(CaptureRequest)> ask;
};

// A rank on this node, as input for a capture.
struct CaptureRank {
  std::optional<uint64_t> client;  // the client's connection; nullopt if lost
  bool answers = false;            // whether the client supports captures
  std::string job;
  std::string job_name;
  std::string owner;
  int64_t rank = 0;
  int64_t world_size = 0;
  ProcessKey process;
  // The fields below are from the rank's last update.
  std::string phase;
  std::string mode;
  uint64_t step_plus_one = 0;
};

// Runs at most one capture per job and kRunning captures in total at a time, and queues at most
// kWaiting requests. Each request ID is accepted only once; expired requests are rejected. Owned by
// the socket thread; only Request and OnRequest are thread-safe. The caller owns all arguments.
class NodeCaptures {
 public:
  static constexpr size_t kRunning = 8;
  static constexpr size_t kWaiting = 64;
  static constexpr size_t kIds = 1024;  // number of remembered request IDs
  static constexpr int64_t kAnswerNs = kNanosPerSecond;
  static constexpr int kStepMs = 20;  // interval of Step calls during a capture

  NodeCaptures(NodeCapturesOptions options, const MonotonicEventClock& time, const Clock& clock,
               Counters* counters, CaptureStates* states);

  // Queues a request. Thread-safe.
  void Request(CaptureRequest request);
  // Sets a callback for queued requests, which may be called on any thread.
  void OnRequest(std::function<void()> ring);

  // Publishes a capture request on behalf of a client or a job owner.
  Status RequestCapture(CaptureRequest request) const;
  using RanksOf = std::function<std::vector<CaptureRank>(const CaptureRequest&)>;
  // Starts queued requests, takes second samples, and delivers complete captures.
  void Step(const RanksOf& ranks_of);
  // Returns the messages created since the previous call, as (client, message) pairs.
  std::vector<std::pair<uint64_t, std::string>> Messages();
  // Handles a client's answer that took `bytes` bytes on the wire. Unexpected answers are counted
  // and ignored.
  void Answered(uint64_t client, const client::v1::Captured& captured, size_t bytes);
  void Closed(uint64_t client);
  // Returns true if Step has work to do.
  bool active();
  CaptureStates* states() const { return states_; }

 private:
  struct Rank {
    CaptureRank who;
    std::array<std::optional<CaptureLook>, 2> system;
    std::array<std::optional<CaptureLook>, 2> own;
    std::array<bool, 2> asked{};
    std::string refused;  // reason that an answer was rejected
    std::vector<std::string> operators;
    uint64_t left_out = 0;
  };
  struct Running {
    CaptureRequest request;
    int look = 0;  // number of the latest sample: 1 or 2
    int64_t looked_ns = 0;
    std::vector<Rank> ranks;
  };

  // Returns the next request that can start now.
  std::optional<CaptureRequest> Next();
  void Begin(CaptureRequest request, const RanksOf& ranks_of);
  void Look(Running* running, const RanksOf& ranks_of);
  static bool Complete(const Running& running);
  RankCapture Judge(const CaptureRequest& request, Rank* rank) const;
  static std::string WhySystem(const Rank& rank, bool stopped);

  const NodeCapturesOptions options_;
  const MonotonicEventClock& time_;
  const Clock& clock_;
  Counters* const counters_;
  CaptureStates* const states_;
  std::list<Running> running_;
  std::vector<std::pair<uint64_t, std::string>> messages_;
  std::deque<std::string> ids_;  // oldest first
  std::set<std::string, std::less<>> known_;

  Mutex mutex_;
  std::deque<CaptureRequest> waiting_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> ring_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::collector
