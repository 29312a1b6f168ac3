// The history of all jobs, of which this process keeps some and its peers the others.
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
  int index = 0;                   // of this process
  std::vector<std::string> peers;  // URLs by index, this one's too
  int32_t partitions = 1;
  PeerOptions peer;
  int64_t follow_ns = 250 * kNanosPerMilli;  // between two looks at a peer's changes
};

// Where a job is.
struct JobHolder {
  int index = 0;
  std::string id;
};

// Answers about several jobs are whole where PartialResult says nothing. A job is answered by its
// owner, by the hash of its id; where that has none of it, by whoever has (what was kept before
// partitions went to other processes). Of another process's job there are series, samples and
// events; the rest is asked of its holder as a whole request. Thread-safe, but for Start and Stop.
class FederatedHistory final : public History {
 public:
  FederatedHistory(const History* own, Clock* clock, HttpTransport* transport,
                   FleetOptions options);
  ~FederatedHistory() override;
  // Follows the changes of all.
  void Start();
  void Stop();

  int index() const { return options_.index; }
  int OwnerOf(std::string_view id) const;
  // NotFound, InvalidArgument as FindJob. Unavailable: a peer that may have it does not answer.
  StatusOr<JobHolder> Holder(std::string_view wanted) const;
  Peer* peer(int index) const { return peers_[static_cast<size_t>(index)].get(); }  // null: own
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
  // Of all that answer, one holder for each job, the last heard of first; others are noted as
  // missing. `missing`: how many they were.
  std::vector<Held> AllJobs(int* missing) const;
  // Of the owner, or where that knows no such job of whoever does.
  template <typename T>
  StatusOr<T> FromHolder(std::string_view id,
                         const std::function<StatusOr<T>(int index)>& ask) const;
  StatusOr<bool> Has(int index, const std::string& id) const;
  StatusOr<std::string> Ask(int index, PeerQuestion question, std::string_view words) const;
  // Of the job with exactly that id.
  StatusOr<int> HolderOf(const std::string& id) const;
  // Unimplemented: another process keeps it.
  Status KeptHere(std::string_view job) const;
  void Follow(int index);

  const History* const own_;
  Clock* const clock_;
  const FleetOptions options_;
  std::vector<std::unique_ptr<Peer>> peers_;
  ChangeFeed feed_;  // of all, with places of this process
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Wakeup>> wakeups_;
  std::vector<std::thread> followers_;
};

}  // namespace pitwall::history
