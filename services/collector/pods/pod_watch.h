// Watcher for the pods of this node's ranks. It looks up the containers' exit status and the pods'
// owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/collector/pods/pod_list.h"
#include "services/io/http_transport.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::collector {

struct PodWatchOptions {
  // URL of a PodList. Either https://<API server>/api/v1/pods?fieldSelector=spec.nodeName=<node>
  // (permission: list pods), or https://<node>:10250/pods on the kubelet (permission: get
  // nodes/proxy).
  std::string url;
  std::string token_file;  // read for each request, because the kubelet rotates it; may be empty
  // If true, reports the pod's owner for jobs whose reference is not an object.
  bool owners = false;
  std::string root = "/";                    // parent of /proc
  int64_t timeout_ns = 5 * kNanosPerSecond;  // timeout per request
  size_t max_bytes = size_t{32} << 20;       // maximum response size
};

struct PodRank {
  std::string job;
  std::string owner;  // owner of the job
  bool owner_declared = false;
  int64_t rank = 0;
  int64_t pid = 0;
  bool has_object = false;  // whether the job's reference is more than a process
};

struct KnownPodRank {
  PodRank rank;
  std::string container;  // "" if unknown or not in a pod
  std::string pod;        // "" if unknown or not in a pod
  bool owner_known = false;
  int64_t left_at_ns = -1;  // monotonic; -1 while the rank is running
};

// Sends requests only after a rank has ended, and once for each pod whose owner is needed. After
// the end of a rank, the first request is sent immediately, followed by one request per second
// until the container's end is known, for at most kAwaitNs. After each failure, the pause doubles,
// up to kLastPauseNs. Owns its thread. Start and Stop must be called from the same thread.
class PodWatch {
 public:
  static constexpr int64_t kLookNs = 500'000'000;
  static constexpr int64_t kAskNs = 1'000'000'000;
  static constexpr int64_t kAwaitNs = 60'000'000'000;
  static constexpr int64_t kLastPauseNs = 30'000'000'000;
  static constexpr size_t kMaxRanks = 4096;

  using Rank = PodRank;
  // Returns the ranks on this node.
  using Here = std::function<std::vector<Rank>()>;
  // Publishes a rank's end to its job. With nullopt, announces that the end will follow. Called on
  // the watch's thread.
  using Report = std::function<void(const Rank&, const std::optional<PlatformEnd>&)>;

  // Reports the object that owns the rank's pod. Called on the watch's thread.
  using Own = std::function<void(const Rank&, const JobReference&)>;

  // The caller owns the clock and the transport.
  PodWatch(PodWatchOptions options, Clock* clock, HttpTransport* transport, Here here,
           Report report, Own own);

  void Start();
  void Stop() { worker_.Stop(); }  // idempotent
  // Adds a rank immediately, so that its end is noticed even if it ends before the next round. At
  // most kMaxRanks ranks may be added per round. Thread-safe. Reads a file in /proc and wakes the
  // watch's thread.
  void Arrive(Rank rank);
  // Runs one round. The thread does this every kLookNs.
  void Look();
  // Returns OK, or the error of the last request. Thread-safe.
  Status health() const { return worker_.Health(); }

 private:
  using Known = KnownPodRank;
  std::string GroupsOf(const Rank& rank) const;
  void Know(const Rank& rank, const std::string& groups);
  void TakeUp(int64_t now_ns);
  StatusOr<std::vector<PodState>> Ask();
  bool AwaitsOwner(const Known& known) const;
  void ReportOwners(const std::vector<PodState>& pods);
  // Reports the ranks that have left and whose container has ended according to `pods`.
  void ReportEnds(const std::vector<PodState>& pods);

  const PodWatchOptions options_;
  Clock* const clock_;
  HttpTransport* const transport_;
  const Here here_;
  const Report report_;
  const Own own_;

  // Known ranks by job, rank, and PID. Used only by the watch's thread.
  std::map<std::tuple<std::string, int64_t, int64_t>, Known> known_;
  int64_t next_ask_ns_ = 0;
  int64_t pause_ns_ = 0;  // pause after a failed request
  Mutex mutex_;
  std::vector<std::pair<Rank, std::string>> arrived_ ABSL_GUARDED_BY(mutex_);  // with their cgroups

  Worker worker_;
};

}  // namespace pitwall::collector
