// Processes in a fleet, and the jobs that each of them stores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/history/history.h"
#include "services/history/peers/peer.h"

namespace pitwall::history {

struct FleetOptions {
  int index = 0;                   // index of this process among the peers
  std::vector<std::string> peers;  // URLs by index, including the URL of this process
  int32_t partitions = 1;
  PeerOptions peer;
  int64_t follow_ns = 250 * kNanosPerMilli;  // interval between polls of a peer's changes
};

// Process that stores a job, and the job's ID.
struct JobHolder {
  int index = 0;
  std::string id;
};

// Locator for jobs among this process and its peers. The hash of a job's ID determines the job's
// owner, which serves requests about the job. If the owner has no data for the job, any process
// that has data responds (such data was stored before partitions moved). Thread-safe. Does not own
// its arguments.
class JobLocator {
 public:
  JobLocator(const History* own, const Clock* clock, HttpTransport* transport,
             FleetOptions options);

  int index() const { return options_.index; }
  int size() const { return static_cast<int>(peers_.size()); }
  Peer* peer(int index) const {
    return peers_[static_cast<size_t>(index)].get();
  }  // nullptr for this process
  int OwnerOf(std::string_view id) const;
  // Finds the process that stores a job. Returns NotFound and InvalidArgument like FindJob. Returns
  // Unavailable if a peer that may have the job does not respond.
  StatusOr<JobHolder> Holder(std::string_view wanted) const;
  // Returns Unimplemented if a different process stores the job.
  Status CheckStoredHere(std::string_view job) const;

  using Held = std::pair<int, JobLifePtr>;
  struct HeldJobs {
    std::vector<Held> jobs;
    MissingPeers missing;
  };
  // Lists one holder per job from all peers that respond, sorted by the time of the job's last
  // data, newest first.
  HeldJobs AllJobs() const;
  // Queries the owner or, if the owner does not have the job, the process that has it.
  template <typename T>
  StatusOr<T> FromHolder(std::string_view id,
                         const std::function<StatusOr<T>(int index)>& ask) const {
    const int owner = OwnerOf(id);
    StatusOr<T> out = ask(owner);
    for (int i = 0; i < size() && absl::IsNotFound(out.status()); ++i) {
      if (i == owner) continue;
      StatusOr<T> other = ask(i);
      if (!absl::IsNotFound(other.status())) return other;
    }
    return out;
  }

 private:
  StatusOr<bool> Has(int index, const std::string& id) const;
  // Finds the process that has a job with exactly this ID.
  StatusOr<int> HolderOf(const std::string& id) const;

  const History* const own_;
  const FleetOptions options_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace pitwall::history
