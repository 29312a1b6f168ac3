#include "services/history/peers/federated_history.h"

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

// Asks the process that holds the job: this process by `own`, or a peer, whose response `decode`
// reads.
template <typename T>
StatusOr<T> FromHolder(const JobLocator& fleet, std::string_view job, PeerMethod method,
                       const BinaryWriter& words, const std::function<StatusOr<T>()>& own,
                       const std::function<StatusOr<T>(BinaryReader*)>& decode) {
  return fleet.FromHolder<T>(job, [&](int index) -> StatusOr<T> {
    if (index == fleet.index()) return own();
    ASSIGN_OR_RETURN(const std::string answer, fleet.peer(index)->Call(method, words.data()));
    BinaryReader in(answer);
    ASSIGN_OR_RETURN(T out, decode(&in));
    RETURN_IF_ERROR(in.Finish("response of a peer"));
    return out;
  });
}

}  // namespace

JobList FederatedHistory::ListJobs() const {
  JobLocator::HeldJobs all = fleet_.AllJobs();
  JobList out;
  for (JobLocator::Held& held : all.jobs) out.jobs.push_back(std::move(held.second));
  out.missing = std::move(all.missing);
  return out;
}

StatusOr<JobLifePtr> FederatedHistory::FindJob(std::string_view job) const {
  ASSIGN_OR_RETURN(const JobHolder holder, fleet_.Holder(job));
  if (holder.index == fleet_.index()) return own_->FindJob(holder.id);
  for (JobLifePtr& life : Jobs()) {
    if (life->id == holder.id) return std::move(life);
  }
  return NotFound(Cat("job ", Quote(job), ": was just removed"));
}

StatusOr<std::vector<SeriesInfo>> FederatedHistory::Series(const SeriesQuery& query) const {
  SampleQuery asked;
  static_cast<SeriesQuery&>(asked) = query;
  BinaryWriter words;
  PutQuery(asked, &words);
  using Found = std::vector<SeriesInfo>;
  return FromHolder<Found>(
      fleet_, query.job, PeerMethod::kSeries, words, [&] { return own_->Series(query); },
      [](BinaryReader* in) -> StatusOr<Found> { return TakeSeries(in); });
}

StatusOr<std::vector<SampleColumn>> FederatedHistory::Samples(const SampleQuery& query) const {
  BinaryWriter words;
  PutQuery(query, &words);
  using Found = std::vector<SampleColumn>;
  return FromHolder<Found>(
      fleet_, query.job, PeerMethod::kSamples, words, [&] { return own_->Samples(query); },
      [](BinaryReader* in) -> StatusOr<Found> { return TakeSamples(in); });
}

StatusOr<JobRecords> FederatedHistory::Records(std::string_view job, EventTopic topic) const {
  if (topic != EventTopic::kIssues) {
    RETURN_IF_ERROR(fleet_.CheckStoredHere(job));
    return own_->Records(job, topic);
  }
  BinaryWriter words;
  words.Str(job);
  return FromHolder<JobRecords>(
      fleet_, job, PeerMethod::kEvents, words, [&] { return own_->Records(job, topic); },
      [](BinaryReader* in) -> StatusOr<JobRecords> {
        JobRecords out;
        ASSIGN_OR_RETURN(out.events, TakeEvents(in));
        return out;
      });
}

// A request about a job of another process is forwarded as a whole, so this function is never
// called for such a job.
Status FederatedHistory::VisitStepWindows(
    const SampleQuery& query, const std::function<Status(const StepWindows&)>& visit) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->VisitStepWindows(query, visit);
}

StatusOr<std::vector<RollupColumn>> FederatedHistory::Rollups(const SeriesQuery& query,
                                                              size_t tier) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->Rollups(query, tier);
}

StatusOr<SeriesTablePtr> FederatedHistory::VisitRollups(
    const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
    const std::function<Status(std::span<const RollupPart>)>& visit) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->VisitRollups(query, tier, begin, visit);
}

StatusOr<std::vector<QuantileRow>> FederatedHistory::Quantiles(
    const SeriesQuery& query, std::span<const double> quantiles) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->Quantiles(query, quantiles);
}

StatusOr<SpanPage> FederatedHistory::SpansPage(const SpanQuery& query, size_t first,
                                               size_t most) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->SpansPage(query, first, most);
}

StatusOr<std::vector<OperatorTotal>> FederatedHistory::Operators(const SpanQuery& query) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->Operators(query);
}

}  // namespace pitwall::history
