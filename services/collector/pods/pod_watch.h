// Ranks that run in pods of this node: how they ended, as the status of their containers says, and
// whose pods they are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/collector/pods/pod_list.h"
#include "services/io/http_transport.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::collector {

struct PodWatchOptions {
  // Gives a PodList: https://<API server>/api/v1/pods?fieldSelector=spec.nodeName=<node> (right:
  // list pods), or https://<node>:10250/pods of the kubelet (right: get nodes/proxy).
  std::string url;
  std::string token_file;  // read again for each request: the kubelet exchanges it; empty: none
  // Whether jobs that nobody has named an object for are told the one that owns their pods.
  bool owners = false;
  std::string root = "/";                    // parent of /proc
  int64_t timeout_ns = 5 * kNanosPerSecond;  // of one request
  size_t max_bytes = size_t{32} << 20;       // of an answer
};

struct PodRank {
  std::string job;
  std::string owner;  // of the job
  bool owner_declared = false;
  int64_t rank = 0;
  int64_t pid = 0;
  bool has_object = false;  // the job's reference is more than a process
};

struct KnownPodRank {
  PodRank rank;
  std::string container;  // "": in no pod, or not to be seen
  std::string pod;        // likewise
  bool owner_known = false;
  int64_t left_at_ns = -1;  // monotonic; -1: it is here
};

// Asks nothing while no rank has ended, but once for each pod whose owner is to be known. Once one
// has, it asks at once, and each second until its container's end is there, for at most kAwaitNs;
// failing requests are repeated after pauses that double up to kLastPauseNs. Owns its thread; Start
// and Stop from one thread.
class PodWatch {
 public:
  static constexpr int64_t kLookNs = 500'000'000;
  static constexpr int64_t kAskNs = 1'000'000'000;
  static constexpr int64_t kAwaitNs = 60'000'000'000;
  static constexpr int64_t kLastPauseNs = 30'000'000'000;
  static constexpr size_t kMaxRanks = 4096;

  using Rank = PodRank;
  // The ranks that are here now.
  using Here = std::function<std::vector<Rank>()>;
  // Tells the rank's job; on the thread of the watch. Nothing: that its end will be told.
  using Tell = std::function<void(const Rank&, const std::optional<PlatformEnd>&)>;

  // The object that owns the rank's pod, for the rank's job; likewise on that thread.
  using Own = std::function<void(const Rank&, const JobReference&)>;

  // Clock and transport are borrowed.
  PodWatch(PodWatchOptions options, Clock* clock, HttpTransport* transport, Here here, Tell tell,
           Own own);
  ~PodWatch();

  void Start();
  void Stop();  // idempotent
  // A rank that is here from now on, so that one which ends before the next round is known too. At
  // most kMaxRanks until then. Any thread; reads a file of /proc, wakes the thread of the watch.
  void Arrive(Rank rank);
  // One round: what the thread does each kLookNs.
  void Look();
  // OK, or why the last request failed. Any thread.
  Status health() const;

 private:
  using Known = KnownPodRank;
  void Loop();
  std::string GroupsOf(const Rank& rank) const;
  void Know(const Rank& rank, const std::string& groups);
  void TakeUp(int64_t now_ns);
  StatusOr<std::vector<PodState>> Ask();
  bool AwaitsOwner(const Known& known) const;
  void TellOwners(const std::vector<PodState>& pods);
  // Tells what has become known.
  void Answer(const std::vector<PodState>& pods);

  const PodWatchOptions options_;
  Clock* const clock_;
  HttpTransport* const transport_;
  const Here here_;
  const Tell tell_;
  const Own own_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  // The thread's own; by job, rank and pid.
  std::map<std::tuple<std::string, int64_t, int64_t>, Known> known_;
  int64_t next_ask_ns_ = 0;
  int64_t pause_ns_ = 0;  // after a failed request
  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<Rank, std::string>> arrived_ ABSL_GUARDED_BY(mutex_);  // with groups
};

}  // namespace pitwall::collector
