#include "services/history/peers/federated_history.h"

#include "services/base/text/strings.h"

namespace pitwall::history {

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
  return fleet_.FromHolder<Found>(query.job, [&](int index) -> StatusOr<Found> {
    if (index == fleet_.index()) return own_->Series(query);
    ASSIGN_OR_RETURN(const std::string answer,
                     fleet_.peer(index)->Call(PeerMethod::kSeries, words.data()));
    BinaryReader in(answer);
    Found out = TakeSeries(&in);
    RETURN_IF_ERROR(in.Finish("response of a peer"));
    return out;
  });
}

StatusOr<std::vector<SampleColumn>> FederatedHistory::Samples(const SampleQuery& query) const {
  BinaryWriter words;
  PutQuery(query, &words);
  using Found = std::vector<SampleColumn>;
  return fleet_.FromHolder<Found>(query.job, [&](int index) -> StatusOr<Found> {
    if (index == fleet_.index()) return own_->Samples(query);
    ASSIGN_OR_RETURN(const std::string answer,
                     fleet_.peer(index)->Call(PeerMethod::kSamples, words.data()));
    BinaryReader in(answer);
    Found out = TakeSamples(&in);
    RETURN_IF_ERROR(in.Finish("response of a peer"));
    return out;
  });
}

StatusOr<std::vector<IssueEventPtr>> FederatedHistory::Events(std::string_view job) const {
  BinaryWriter words;
  words.Str(job);
  using Found = std::vector<IssueEventPtr>;
  return fleet_.FromHolder<Found>(job, [&](int index) -> StatusOr<Found> {
    if (index == fleet_.index()) return own_->Events(job);
    ASSIGN_OR_RETURN(const std::string answer,
                     fleet_.peer(index)->Call(PeerMethod::kEvents, words.data()));
    BinaryReader in(answer);
    ASSIGN_OR_RETURN(Found out, TakeEvents(&in));
    RETURN_IF_ERROR(in.Finish("response of a peer"));
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

StatusOr<std::vector<SpanRow>> FederatedHistory::Spans(const SpanQuery& query) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(query.job));
  return own_->Spans(query);
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

StatusOr<std::vector<ActionEvent>> FederatedHistory::Actions(std::string_view job) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(job));
  return own_->Actions(job);
}

StatusOr<std::vector<RankCapture>> FederatedHistory::Captures(std::string_view job) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(job));
  return own_->Captures(job);
}

StatusOr<std::vector<NotificationRecord>> FederatedHistory::Notifications(
    std::string_view job) const {
  RETURN_IF_ERROR(fleet_.CheckStoredHere(job));
  return own_->Notifications(job);
}

}  // namespace pitwall::history
