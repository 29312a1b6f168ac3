#include "services/collector/pods/pod_watch.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

constexpr size_t kMaxTokenBytes = 16u << 10;
constexpr size_t kMaxCgroupBytes = 64u << 10;

}  // namespace

PodWatch::PodWatch(PodWatchOptions options, Clock* clock, HttpTransport* transport, Here here,
                   Report report, Own own)
    : options_(std::move(options)),
      clock_(clock),
      transport_(transport),
      here_(std::move(here)),
      report_(std::move(report)),
      own_(std::move(own)),
      worker_(clock, "pod-watch") {}

void PodWatch::Start() {
  worker_.Start([this] {
    while (!worker_.stopping()) {
      Look();
      worker_.Wait(kLookNs);
    }
  });
}

std::string PodWatch::GroupsOf(const Rank& rank) const {
  return ReadFile(Cat(options_.root, "/proc/", rank.pid, "/cgroup"), kMaxCgroupBytes).value_or("");
}

void PodWatch::Arrive(Rank rank) {
  std::string groups = GroupsOf(rank);
  {
    MutexLock lock(&mutex_);
    if (arrived_.size() >= kMaxRanks) return;
    arrived_.emplace_back(std::move(rank), std::move(groups));
  }
  worker_.Wake();
}

void PodWatch::Know(const Rank& rank, const std::string& groups) {
  const auto key = std::tuple(rank.job, rank.rank, rank.pid);
  if (known_.contains(key) || known_.size() >= kMaxRanks) return;
  Known known{.rank = rank, .container = ContainerOfCgroup(groups), .pod = PodOfCgroup(groups)};
  if (!known.container.empty()) report_(rank, std::nullopt);
  known_.emplace(key, std::move(known));
}

void PodWatch::TakeUp(int64_t now_ns) {
  std::vector<std::pair<Rank, std::string>> arrived;
  {
    MutexLock lock(&mutex_);
    arrived.swap(arrived_);
  }
  for (const auto& [rank, groups] : arrived) Know(rank, groups);
  // Arrivals are processed before the ranks are listed, so an arrival that is not listed has
  // already left.
  const std::vector<Rank> here = here_();
  std::set<std::tuple<std::string, int64_t, int64_t>> present;
  for (const Rank& rank : here) {
    const auto key = std::tuple(rank.job, rank.rank, rank.pid);
    present.insert(key);
    if (const auto it = known_.find(key); it != known_.end()) {
      // The job was declared for another owner, and its new reference is not an object.
      if (it->second.rank.has_object && !rank.has_object) it->second.owner_known = false;
      it->second.rank.has_object = rank.has_object;
      continue;
    }
    Know(rank, GroupsOf(rank));
  }
  for (auto it = known_.begin(); it != known_.end();) {
    Known& known = it->second;
    if (present.contains(it->first)) {
      known.left_at_ns = -1;
    } else if (known.left_at_ns < 0) {
      known.left_at_ns = now_ns;
      // The engine delays reporting a death until the pod status is known, so the request is sent
      // immediately.
      if (pause_ns_ == 0 && !known.container.empty()) next_ask_ns_ = now_ns;
    }
    const bool awaited = known.left_at_ns >= 0;
    const bool over = awaited && (known.container.empty() || now_ns - known.left_at_ns > kAwaitNs);
    it = over ? known_.erase(it) : std::next(it);
  }
}

void PodWatch::Look() {
  const int64_t now_ns = clock_->MonotonicNs();
  TakeUp(now_ns);
  const bool awaits = std::any_of(known_.begin(), known_.end(), [this](const auto& entry) {
    return entry.second.left_at_ns >= 0 || AwaitsOwner(entry.second);
  });
  if (!awaits || now_ns < next_ask_ns_) return;
  const StatusOr<std::vector<PodState>> pods = Ask();
  if (worker_.stopping()) return;
  const Status status = Annotate(pods.status(), "collector.pods.url");
  if (!status.ok() && status.message() != health().message())
    PITWALL_LOG(kWarning, "collector", ToStd(status.message()));
  worker_.SetHealth(status);
  if (status.ok()) {
    pause_ns_ = 0;
    ReportOwners(*pods);
    ReportEnds(*pods);
  } else {
    pause_ns_ = std::clamp(2 * pause_ns_, kAskNs, kLastPauseNs);
  }
  next_ask_ns_ = clock_->MonotonicNs() + std::max(pause_ns_, kAskNs);
}

StatusOr<std::vector<PodState>> PodWatch::Ask() {
  HttpCall call;
  call.method = "GET";
  call.url = options_.url;
  call.headers.emplace_back("accept", "application/json");
  call.timeout = Duration::Nanos(options_.timeout_ns);
  call.max_response_bytes = options_.max_bytes;
  call.cancel = worker_.stop_flag();
  if (!options_.token_file.empty()) {
    const std::string text = ReadFile(options_.token_file, kMaxTokenBytes).value_or("");
    const std::string token(Trim(std::string_view(text)));
    if (token.empty() || HasControl(token)) {
      return FailedPrecondition(
          Cat("token file ", Quote(options_.token_file),
              ": contains no token; mount a token or configure another file"));
    }
    call.headers.emplace_back("authorization", Cat("Bearer ", token));
  }
  ASSIGN_OR_RETURN(const HttpReply reply, transport_->Perform(call));
  if (reply.status == 401 || reply.status == 403) {
    return absl::PermissionDeniedError(ToAbsl(Cat(
        "response ", reply.status, ": ", TerminalLine(reply.body.substr(0, 200)),
        "; the token needs permission to list pods (API server) or to get nodes/proxy (kubelet)")));
  }
  if (reply.status != 200)
    return Unavailable(
        Cat("response ", reply.status, ": ", TerminalLine(reply.body.substr(0, 200))));
  return ParsePodList(reply.body, options_.max_bytes);
}

bool PodWatch::AwaitsOwner(const Known& known) const {
  return options_.owners && known.left_at_ns < 0 && !known.pod.empty() && !known.owner_known &&
         !known.rank.has_object;
}

// A pod is listed before the kubelet starts it, so no second request is sent for a missing pod.
void PodWatch::ReportOwners(const std::vector<PodState>& pods) {
  for (auto& [key, known] : known_) {
    if (!AwaitsOwner(known)) continue;
    known.owner_known = true;
    const std::string& wanted = known.pod;
    const auto pod = std::find_if(pods.begin(), pods.end(),
                                  [&wanted](const PodState& p) { return p.uid == wanted; });
    if (pod != pods.end() && pod->controller != JobReference{}) own_(known.rank, pod->controller);
  }
}

void PodWatch::ReportEnds(const std::vector<PodState>& pods) {
  std::map<std::string, PlatformEnd, std::less<>> ends;
  for (const PodState& pod : pods) {
    for (const ContainerState& container : pod.containers) {
      if (container.end) ends.emplace(container.id, EndOf(pod, *container.end));
    }
  }
  // The status of a container applies to a single rank only if the container had no other ranks.
  std::map<std::string, int, std::less<>> ranks;
  for (const auto& [key, known] : known_) ++ranks[known.container];
  for (auto it = known_.begin(); it != known_.end();) {
    const Known& known = it->second;
    const auto end = known.left_at_ns < 0 ? ends.end() : ends.find(known.container);
    if (end == ends.end()) {
      ++it;
      continue;
    }
    PlatformEnd reported = end->second;
    if (ranks[known.container] == 1) reported.rank = known.rank.rank;
    report_(known.rank, reported);
    it = known_.erase(it);
  }
}

}  // namespace pitwall::collector
