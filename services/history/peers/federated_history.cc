#include "services/history/peers/federated_history.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/peers/partial_result.h"

namespace pitwall::history {
namespace {

constexpr size_t kChanges = 1'000;

// Returns the first change position. Positions increase across restarts and differ between
// processes, so a client that reconnects to another process gets a resync.
uint64_t FirstPlace(int index, int64_t wall_ns) {
  return (static_cast<uint64_t>(index) << 52) +
         static_cast<uint64_t>(std::max<int64_t>(wall_ns, 0)) / 1000;
}

}  // namespace

FederatedHistory::FederatedHistory(const History* own, Clock* clock, HttpTransport* transport,
                                   FleetOptions options)
    : own_(own),
      clock_(clock),
      options_(std::move(options)),
      feed_(FirstPlace(options_.index, clock->WallNs())) {
  for (size_t i = 0; i < options_.peers.size(); ++i) {
    const int index = static_cast<int>(i);
    peers_.push_back(index == options_.index
                         ? nullptr
                         : std::make_unique<Peer>(index, options_.index, options_.peers[i], clock,
                                                  transport, &options_.peer));
  }
}

FederatedHistory::~FederatedHistory() { Stop(); }

void FederatedHistory::Start() {
  for (int i = 0; i < size(); ++i) {
    wakeups_.push_back(clock_->NewWakeup());
    followers_.emplace_back([this, i] { Follow(i); });
  }
}

void FederatedHistory::Stop() {
  stop_ = true;
  for (const auto& wakeup : wakeups_) wakeup->Wake();
  for (std::thread& thread : followers_) thread.join();
  followers_.clear();
}

int FederatedHistory::OwnerOf(std::string_view id) const {
  return PartitionOf(id, options_.partitions) % size();
}

StatusOr<std::string> FederatedHistory::Ask(int index, PeerQuestion question,
                                            std::string_view words) const {
  StatusOr<std::string> answer = peer(index)->Ask(question, words);
  if (absl::IsUnavailable(answer.status()))
    PartialResult::Note(index, std::string(ToStd(answer.status().message())));
  return answer;
}

StatusOr<bool> FederatedHistory::Has(int index, const std::string& id) const {
  if (index == options_.index) {
    const StatusOr<JobLifePtr> job = own_->FindJob(id);
    return job.ok() && (*job)->id == id;
  }
  BinaryWriter words;
  words.Str(id);
  ASSIGN_OR_RETURN(const std::string answer, Ask(index, PeerQuestion::kHas, words.data()));
  BinaryReader in(answer);
  const bool has = in.Bool();
  RETURN_IF_ERROR(in.Finish("response of a peer"));
  return has;
}

StatusOr<int> FederatedHistory::HolderOf(const std::string& id) const {
  const int owner = OwnerOf(id);
  ASSIGN_OR_RETURN(const bool owned, Has(owner, id));
  if (owned) return owner;
  Status fault;
  for (int i = 0; i < size(); ++i) {
    if (i == owner) continue;
    const StatusOr<bool> has = Has(i, id);
    if (has.ok() && *has) return i;
    if (!has.ok()) fault = has.status();
  }
  RETURN_IF_ERROR(fault);
  return NotFound(Cat("job ", Quote(id), ": the history has no such job"));
}

std::vector<FederatedHistory::Held> FederatedHistory::AllJobs(int* missing) const {
  std::map<std::string_view, Held> by_id;  // keys are views of strings in the overviews
  const auto take = [&](int index, JobLifePtr job) {
    const auto known = by_id.find(job->id);
    if (known == by_id.end()) {
      const std::string_view id = job->id;
      by_id.emplace(id, Held(index, std::move(job)));
      return;
    }
    if (index != OwnerOf(job->id)) return;
    by_id.erase(known);
    const std::string_view id = job->id;
    by_id.emplace(id, Held(index, std::move(job)));
  };
  *missing = 0;
  for (int i = 0; i < size(); ++i) {
    if (i == options_.index) {
      for (JobLifePtr& job : own_->Jobs()) take(i, std::move(job));
      continue;
    }
    const StatusOr<std::string> answer = Ask(i, PeerQuestion::kJobs, "");
    if (!answer.ok()) {
      PartialResult::Note(i, std::string(ToStd(answer.status().message())));
      ++*missing;
      continue;
    }
    BinaryReader in(*answer);
    std::vector<JobLifePtr> jobs;
    for (size_t n = in.Count(20); n > 0 && in.ok(); --n) jobs.push_back(TakeLife(&in));
    if (const Status whole = in.Finish("response of a peer"); !whole.ok()) {
      PartialResult::Note(i, std::string(ToStd(whole.message())));
      ++*missing;
      continue;
    }
    for (JobLifePtr& job : jobs) take(i, std::move(job));
  }
  std::vector<Held> out;
  for (auto& [id, held] : by_id) out.push_back(held);
  std::sort(out.begin(), out.end(), [](const Held& a, const Held& b) {
    return std::tie(b.second->last_ns, a.second->id) < std::tie(a.second->last_ns, b.second->id);
  });
  return out;
}

std::vector<JobLifePtr> FederatedHistory::Jobs() const {
  int missing = 0;
  std::vector<JobLifePtr> out;
  for (Held& held : AllJobs(&missing)) out.push_back(std::move(held.second));
  return out;
}

StatusOr<JobHolder> FederatedHistory::Holder(std::string_view wanted) const {
  const std::string id(wanted);
  const StatusOr<int> exact = HolderOf(id);
  if (exact.ok()) return JobHolder{*exact, id};
  if (!absl::IsNotFound(exact.status()))
    return Unavailable(Cat("job ", Quote(wanted), ": ", ToStd(exact.status().message())));
  int missing = 0;
  std::vector<Held> named, begun;
  for (Held& held : AllJobs(&missing)) {
    if (held.second->name == wanted) named.push_back(held);
    if (!wanted.empty() && StartsWith(held.second->id, wanted)) begun.push_back(held);
  }
  const std::vector<Held>& found = named.empty() ? begun : named;
  if (found.empty() && missing > 0) {
    return Unavailable(
        Cat("job ", Quote(wanted), ": not found, but ", missing, " peers do not respond"));
  }
  if (found.empty()) return NotFound(Cat("job ", Quote(wanted), ": the history has no such job"));
  if (found.size() > 1) {
    return InvalidArgument(Cat("job ", Quote(wanted), ": ", found.size(), " jobs match, such as ",
                               found[0].second->id, " and ", found[1].second->id,
                               "; use the complete ID"));
  }
  return JobHolder{found[0].first, found[0].second->id};
}

StatusOr<JobLifePtr> FederatedHistory::FindJob(std::string_view job) const {
  ASSIGN_OR_RETURN(const JobHolder holder, Holder(job));
  if (holder.index == options_.index) return own_->FindJob(holder.id);
  for (JobLifePtr& life : Jobs()) {
    if (life->id == holder.id) return std::move(life);
  }
  return NotFound(Cat("job ", Quote(job), ": was just removed"));
}

template <typename T>
StatusOr<T> FederatedHistory::FromHolder(std::string_view id,
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

StatusOr<std::vector<SeriesInfo>> FederatedHistory::Series(const SeriesQuery& query) const {
  SampleQuery asked;
  static_cast<SeriesQuery&>(asked) = query;
  BinaryWriter words;
  PutQuery(asked, &words);
  using Found = std::vector<SeriesInfo>;
  return FromHolder<Found>(query.job, [&](int index) -> StatusOr<Found> {
    if (index == options_.index) return own_->Series(query);
    ASSIGN_OR_RETURN(const std::string answer, Ask(index, PeerQuestion::kSeries, words.data()));
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
  return FromHolder<Found>(query.job, [&](int index) -> StatusOr<Found> {
    if (index == options_.index) return own_->Samples(query);
    ASSIGN_OR_RETURN(const std::string answer, Ask(index, PeerQuestion::kSamples, words.data()));
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
  return FromHolder<Found>(job, [&](int index) -> StatusOr<Found> {
    if (index == options_.index) return own_->Events(job);
    ASSIGN_OR_RETURN(const std::string answer, Ask(index, PeerQuestion::kEvents, words.data()));
    BinaryReader in(answer);
    ASSIGN_OR_RETURN(Found out, TakeEvents(&in));
    RETURN_IF_ERROR(in.Finish("response of a peer"));
    return out;
  });
}

Status FederatedHistory::KeptHere(std::string_view job) const {
  ASSIGN_OR_RETURN(const int holder, HolderOf(std::string(job)));
  if (holder == options_.index) return OkStatus();
  return Unimplemented(Cat("job ", Quote(job), ": another process stores it; query that process"));
}

// A request about a job of another process is forwarded as a whole, so this function is never
// called for such a job.
Status FederatedHistory::VisitStepWindows(
    const SampleQuery& query, const std::function<Status(const StepWindows&)>& visit) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->VisitStepWindows(query, visit);
}

StatusOr<std::vector<RollupColumn>> FederatedHistory::Rollups(const SeriesQuery& query,
                                                              size_t tier) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->Rollups(query, tier);
}

StatusOr<SeriesTablePtr> FederatedHistory::VisitRollups(
    const SeriesQuery& query, size_t tier, const std::function<void()>& begin,
    const std::function<Status(std::span<const RollupPart>)>& visit) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->VisitRollups(query, tier, begin, visit);
}

StatusOr<std::vector<QuantileRow>> FederatedHistory::Quantiles(
    const SeriesQuery& query, std::span<const double> quantiles) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->Quantiles(query, quantiles);
}

StatusOr<std::vector<SpanRow>> FederatedHistory::Spans(const SpanQuery& query) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->Spans(query);
}

StatusOr<SpanPage> FederatedHistory::SpansPage(const SpanQuery& query, size_t first,
                                               size_t most) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->SpansPage(query, first, most);
}

StatusOr<std::vector<OperatorTotal>> FederatedHistory::Operators(const SpanQuery& query) const {
  RETURN_IF_ERROR(KeptHere(query.job));
  return own_->Operators(query);
}

StatusOr<std::vector<ActionEvent>> FederatedHistory::Actions(std::string_view job) const {
  RETURN_IF_ERROR(KeptHere(job));
  return own_->Actions(job);
}

StatusOr<std::vector<RankCapture>> FederatedHistory::Captures(std::string_view job) const {
  RETURN_IF_ERROR(KeptHere(job));
  return own_->Captures(job);
}

StatusOr<std::vector<NotificationRecord>> FederatedHistory::Notifications(
    std::string_view job) const {
  RETURN_IF_ERROR(KeptHere(job));
  return own_->Notifications(job);
}

StatusOr<std::vector<Change>> FederatedHistory::ChangesAfter(uint64_t place, size_t max) const {
  return feed_.After(place, max);
}

uint64_t FederatedHistory::newest_place() const { return feed_.newest(); }

void FederatedHistory::Follow(int index) {
  const bool own = index == options_.index;
  std::optional<uint64_t> place;  // empty if unknown, in which case changes may have been missed
  bool first = true;
  const auto look = [&]() -> Status {
    if (!place.has_value()) {
      if (own) {
        place = own_->newest_place();
      } else {
        ASSIGN_OR_RETURN(const std::string answer, peer(index)->Ask(PeerQuestion::kNewest, ""));
        BinaryReader in(answer);
        place = in.U64();
      }
      // Clients read all data before they poll for changes. The first look at this process's own
      // changes therefore need not invalidate positions.
      if (!first || !own) feed_.Break();
      first = false;
    }
    while (!stop_) {
      StatusOr<std::vector<Change>> changes = std::vector<Change>();
      if (own) {
        changes = own_->ChangesAfter(*place, kChanges);
      } else {
        BinaryWriter words;
        words.U64(*place);
        words.U64(kChanges);
        const StatusOr<std::string> answer = peer(index)->Ask(PeerQuestion::kChanges, words.data());
        if (!answer.ok()) {
          changes = answer.status();
        } else {
          BinaryReader in(*answer);
          changes = TakeChanges(&in);
        }
      }
      if (absl::IsOutOfRange(changes.status())) {
        place.reset();
        return OkStatus();
      }
      RETURN_IF_ERROR(changes.status());
      if (changes->empty()) return OkStatus();
      for (Change& change : *changes) {
        place = change.place;
        feed_.Add(std::move(change));
      }
    }
    return OkStatus();
  };
  while (!stop_) {
    // The error is ignored, because requests for jobs report peers that do not respond.
    (void)look();
    wakeups_[static_cast<size_t>(index)]->Wait(options_.follow_ns);
  }
}

}  // namespace pitwall::history
