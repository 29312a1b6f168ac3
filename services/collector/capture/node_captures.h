// Takes captures of the ranks of this node: two looks at each, kCaptureGapNs apart, by the client
// of the process and by the system.
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
#include "services/collector/readers/event_time.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

struct NodeCapturesOptions {
  std::string node;
  std::string root = "/";  // parent of /proc
  // Takes each rank's answer, on the socket thread: it must not wait.
  std::function<void(RankCapture)> deliver;
  // Sends a request of a client to all collectors; must not wait. Null: clients cannot ask.
  std::function<Status(CaptureRequest)> ask;
};

// A rank of this node, as a capture needs it.
struct CaptureRank {
  std::optional<uint64_t> client;  // its connection; nothing: it is lost
  bool answers = false;            // its client knows captures
  std::string job;
  std::string job_name;
  std::string owner;
  int64_t rank = 0;
  int64_t world_size = 0;
  ProcessKey process;
  // Of its last update.
  std::string phase;
  std::string mode;
  uint64_t step_plus_one = 0;
};

// One capture of a job at a time, kRunning jobs at once, kWaiting requests behind them. An id is
// taken once, and nothing that has expired. Owned by the socket thread, Request and OnRequest
// aside. Everything given is borrowed.
class NodeCaptures {
 public:
  static constexpr size_t kRunning = 8;
  static constexpr size_t kWaiting = 64;
  static constexpr size_t kIds = 1024;  // remembered
  static constexpr int64_t kAnswerNs = kNanosPerSecond;
  static constexpr int kStepMs = 20;  // between two calls of Step while a capture runs

  NodeCaptures(NodeCapturesOptions options, const EventTime& time, const Clock& clock,
               Counters* counters, CaptureStates* states);

  // From any thread.
  void Request(CaptureRequest request);
  // `ring` is called, by any thread, when there is a request.
  void OnRequest(std::function<void()> ring);

  // Asks for a capture of a job, for a client or the owner of a job.
  Status Ask(CaptureRequest request) const;
  using RanksOf = std::function<std::vector<CaptureRank>(const CaptureRequest&)>;
  // Begins what was asked for, takes second looks, delivers what is complete.
  void Step(const RanksOf& ranks_of);
  // For clients, by client, since the call before.
  std::vector<std::pair<uint64_t, std::string>> Messages();
  // A client's answer; `bytes`: its size on the wire. One that was not asked for is counted.
  void Answered(uint64_t client, const client::v1::Captured& captured, size_t bytes);
  void Closed(uint64_t client);
  // Whether Step has something to do.
  bool active();
  CaptureStates* states() const { return states_; }

 private:
  struct Rank {
    CaptureRank who;
    std::array<std::optional<CaptureLook>, 2> system;
    std::array<std::optional<CaptureLook>, 2> own;
    std::array<bool, 2> asked{};
    std::string refused;  // why an answer was not taken
    std::vector<std::string> operators;
    uint64_t left_out = 0;
  };
  struct Running {
    CaptureRequest request;
    int look = 0;  // the newest that was taken: 1, 2
    int64_t looked_ns = 0;
    std::vector<Rank> ranks;
  };

  // The next request that may begin now.
  std::optional<CaptureRequest> Next();
  void Begin(CaptureRequest request, const RanksOf& ranks_of);
  void Look(Running* running, const RanksOf& ranks_of);
  static bool Complete(const Running& running);
  RankCapture Judge(const CaptureRequest& request, Rank* rank) const;
  static std::string WhySystem(const Rank& rank, bool stopped);

  const NodeCapturesOptions options_;
  const EventTime& time_;
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
