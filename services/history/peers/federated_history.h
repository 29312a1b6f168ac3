// History of all jobs, split between this process and its peers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/history/change_feed.h"
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

// The process that stores a job, and the job's ID.
struct JobHolder {
  int index = 0;
  std::string id;
};

// Responses about several jobs are complete unless PartialResult reports missing peers. The hash of
// a job's ID determines the job's owner, which responds for the job. If the owner has no data of
// the job, any process that has data responds (such data was stored before partitions moved). For a
// job of another process, only series, samples, and events are available; other queries are
// forwarded as whole requests. Thread-safe, except for Start and Stop.
class FederatedHistory final : public History {
 public:
  FederatedHistory(const History* own, Clock* clock, HttpTransport* transport,
                   FleetOptions options);
  ~FederatedHistory() override;
  // Starts to follow the changes of all processes.
  void Start();
  void Stop();

  int index() const { return options_.index; }
  int OwnerOf(std::string_view id) const;
  // Finds the process that stores a job. Returns NotFound and InvalidArgument like FindJob. Returns
  // Unavailable if a peer that may have the job does not respond.
  StatusOr<JobHolder> Holder(std::string_view wanted) const;
  Peer* peer(int index) const {
    return peers_[static_cast<size_t>(index)].get();
  }  // nullptr for this process
  int size() const { return static_cast<int>(peers_.size()); }

  std::vector<JobLifePtr> Jobs() const override;
  StatusOr<JobLifePtr> FindJob(std::string_view job) const override;
  StatusOr<std::vector<SeriesInfo>> Series(const SeriesQuery& query) const override;
  StatusOr<std::vector<SampleColumn>> Samples(const SampleQuery& query) const override;
  Status VisitStepWindows(const SampleQuery& query,
                          const std::function<Status(const StepWindows&)>& visit) const override;
  StatusOr<std::vector<RollupColumn>> Rollups(const SeriesQuery& query, size_t tier) const override;
  StatusOr<SeriesTablePtr> VisitRollups(
      const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
      const std::function<Status(std::span<const RollupPart>)>& visit) const override;
  StatusOr<std::vector<QuantileRow>> Quantiles(const SeriesQuery& query,
                                               std::span<const double> quantiles) const override;
  StatusOr<std::vector<SpanRow>> Spans(const SpanQuery& query) const override;
  StatusOr<SpanPage> SpansPage(const SpanQuery& query, size_t first, size_t most) const override;
  StatusOr<std::vector<OperatorTotal>> Operators(const SpanQuery& query) const override;
  StatusOr<std::vector<IssueEventPtr>> Events(std::string_view job) const override;
  StatusOr<std::vector<ActionEvent>> Actions(std::string_view job) const override;
  StatusOr<std::vector<RankCapture>> Captures(std::string_view job) const override;
  StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view job) const override;
  StatusOr<std::vector<Change>> ChangesAfter(uint64_t place, size_t max) const override;
  uint64_t newest_place() const override;

 private:
  using Held = std::pair<int, JobLifePtr>;
  // Lists one holder per job from all peers that respond, sorted by last data, newest first.
  // Records peers that do not respond in PartialResult and their number in `missing`.
  std::vector<Held> AllJobs(int* missing) const;
  // Queries the owner or, if the owner does not have the job, the process that has it.
  template <typename T>
  StatusOr<T> FromHolder(std::string_view id,
                         const std::function<StatusOr<T>(int index)>& ask) const;
  StatusOr<bool> Has(int index, const std::string& id) const;
  StatusOr<std::string> Ask(int index, PeerQuestion question, std::string_view words) const;
  // Finds the process that has a job with exactly this ID.
  StatusOr<int> HolderOf(const std::string& id) const;
  // Returns Unimplemented if a different process stores the job.
  Status KeptHere(std::string_view job) const;
  void Follow(int index);

  const History* const own_;
  Clock* const clock_;
  const FleetOptions options_;
  std::vector<std::unique_ptr<Peer>> peers_;
  ChangeFeed feed_;  // changes of all processes, with positions assigned by this process
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Wakeup>> wakeups_;
  std::vector<std::thread> followers_;
};

}  // namespace pitwall::history
