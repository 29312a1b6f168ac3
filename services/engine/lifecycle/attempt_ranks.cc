#include "services/engine/lifecycle/attempt_ranks.h"

#include <algorithm>
#include <utility>

#include "services/model/issues/platform_end.h"

namespace pitwall::engine {

bool AttemptRanks::Join(Source* source) {
  if (!source->IsRank() || source->process.running || source->ended_at != EventTime::Latest())
    return false;
  source->process.running = true;
  ++running_;
  died_at_.reset();
  launchers_gone_[source->info.node] = false;
  failures_.SetGone(false);
  return true;
}

bool AttemptRanks::Leave(Source* source) {
  if (!source->process.running) return false;
  source->process.running = false;
  --running_;
  return true;
}

bool AttemptRanks::OnLauncherGone(const std::string& node) {
  const auto known = launchers_gone_.find(node);
  if (known == launchers_gone_.end()) return false;
  known->second = true;
  return true;
}

bool AttemptRanks::LaunchersGone() const {
  return !launchers_gone_.empty() && std::all_of(launchers_gone_.begin(), launchers_gone_.end(),
                                                 [](const auto& node) { return node.second; });
}

void AttemptRanks::Die(EventTime at) {
  died_at_ = at;
  failures_.SetGone(LaunchersGone());
}

EndDetail AttemptRanks::DetailOfDeath() const {
  if (failures_.stop().Covers(died_at_.value_or(EventTime::Earliest()))) return EndDetail::kStopped;
  return failures_.cancelled() ? EndDetail::kCancelled : EndDetail::kDied;
}

EndDetail AttemptRanks::DetailOfEnd(const JobEvent& event, EventTime at) const {
  const EndDetail detail = ParseEndDetail(event.reason).value_or(EndDetail::kNone);
  if (!PlatformEndOf(event)) return detail;
  if (detail == EndDetail::kFailed && has_lost()) return DetailOfDeath();
  if (detail == EndDetail::kCancelled && failures_.stop().Covers(at)) return EndDetail::kStopped;
  return detail;
}

EventTime AttemptRanks::OverBy() const {
  EventTime over_by = failures_.decided_by();
  if (failures_.waits_for_platform() && died_at_.has_value())
    over_by = std::max(over_by, *died_at_ + AttemptFailures::kPlatformEndWait);
  return std::max(over_by, EventTime::Earliest());
}

void AttemptRanks::BeginAttempt(const absl::flat_hash_set<std::string_view>& nodes) {
  std::erase_if(launchers_gone_, [&](const auto& node) { return !nodes.contains(node.first); });
  died_at_.reset();
  lost_ = 0;
  failures_.Clear();
}

void AttemptRanks::Resume() {
  died_at_.reset();
  running_ = lost_ = 0;
  launchers_gone_.clear();
}

void AttemptRanks::Save(BinaryWriter& out) const {
  out.U64(lost_);
  out.U64(launchers_gone_.size());
  for (const auto& [node, gone] : launchers_gone_) {
    out.Str(node);
    out.Bool(gone);
  }
}

void AttemptRanks::Restore(BinaryReader& in) {
  lost_ = in.U64();
  for (size_t n = in.Count(2); n > 0; --n) {
    std::string node = in.Str();
    launchers_gone_[std::move(node)] = in.Bool();
  }
}

void AttemptRanks::RestoreRunning(const SourceMap& sources) {
  running_ =
      static_cast<size_t>(std::count_if(sources.begin(), sources.end(), [](const auto& entry) {
        return entry.second->process.running;
      }));
}

}  // namespace pitwall::engine
