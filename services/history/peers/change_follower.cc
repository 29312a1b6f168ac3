#include "services/history/peers/change_follower.h"

#include <algorithm>
#include <string>
#include <utility>

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

ChangeFollower::ChangeFollower(const History* own, const JobLocator* fleet, Clock* clock,
                               int64_t interval_ns)
    : own_(own),
      fleet_(*fleet),
      clock_(clock),
      interval_ns_(interval_ns),
      feed_(FirstPlace(fleet->index(), clock->WallNs())) {}

void ChangeFollower::Start() {
  for (int i = 0; i < fleet_.size(); ++i) {
    followers_.push_back(std::make_unique<Worker>(clock_, "follower", i));
    followers_.back()->Start([this, i, worker = followers_.back().get()] { Follow(i, worker); });
  }
}

void ChangeFollower::Stop() {
  for (const auto& follower : followers_) follower->RequestStop();
  followers_.clear();
}

StatusOr<uint64_t> ChangeFollower::NewestPlace(int index) const {
  if (index == fleet_.index()) return own_->newest_place();
  ASSIGN_OR_RETURN(const std::string answer, fleet_.peer(index)->Call(PeerMethod::kNewest, ""));
  return DecodePlace(answer);
}

StatusOr<std::vector<Change>> ChangeFollower::ChangesAfter(int index, uint64_t place) const {
  if (index == fleet_.index()) return own_->ChangesAfter(place, kChanges);
  BinaryWriter words;
  words.U64(place);
  words.U64(kChanges);
  ASSIGN_OR_RETURN(const std::string answer,
                   fleet_.peer(index)->Call(PeerMethod::kChanges, words.data()));
  return DecodeChanges(answer);
}

Status ChangeFollower::Look(int index, const Worker& worker, std::optional<uint64_t>* place,
                            bool* first) {
  if (!place->has_value()) {
    ASSIGN_OR_RETURN(*place, NewestPlace(index));
    // Clients read all data before they poll for changes. Therefore, the first poll of this
    // process's own changes need not invalidate positions.
    if (!*first || index != fleet_.index()) feed_.Break();
    *first = false;
  }
  while (!worker.stopping()) {
    StatusOr<std::vector<Change>> changes = ChangesAfter(index, **place);
    if (absl::IsOutOfRange(changes.status())) {
      place->reset();
      return OkStatus();
    }
    RETURN_IF_ERROR(changes.status());
    if (changes->empty()) return OkStatus();
    for (Change& change : *changes) {
      *place = change.place;
      feed_.Add(std::move(change));
    }
  }
  return OkStatus();
}

void ChangeFollower::Follow(int index, Worker* worker) {
  std::optional<uint64_t> place;
  bool first = true;
  while (!worker->stopping()) {
    // The error is ignored, because requests for jobs report peers that do not respond.
    (void)Look(index, *worker, &place, &first);
    worker->Wait(interval_ns_);
  }
}

}  // namespace pitwall::history
