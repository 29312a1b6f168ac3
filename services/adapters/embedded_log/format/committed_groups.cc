#include "services/adapters/embedded_log/format/committed_groups.h"

#include "services/base/text/strings.h"

namespace pitwall::log {

void CommittedGroups::Apply(const std::vector<GroupPosition>& positions,
                            const std::vector<CommitterEpoch>& epochs) {
  for (const GroupPosition& position : positions) {
    positions_[{position.group, position.key}] = position.at;
  }
  for (const CommitterEpoch& epoch : epochs) epochs_[epoch.id] = epoch.epoch;
}

std::optional<CommittedOffset> CommittedGroups::Position(std::string_view group,
                                                         const PartitionKey& key) const {
  const auto found = positions_.find({std::string(group), key});
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

uint64_t CommittedGroups::Epoch(std::string_view id) const {
  const auto found = epochs_.find(id);
  return found == epochs_.end() ? 0 : found->second;
}

Status CommittedGroups::CheckRoom(const GroupPosition* position, std::string_view committer) const {
  if (position != nullptr && positions_.size() >= kMaxGroupPositions &&
      !positions_.contains({position->group, position->key})) {
    return ResourceExhausted(Cat("too many group positions (limit ", kMaxGroupPositions, ")"));
  }
  if (!committer.empty() && epochs_.size() >= kMaxCommitters && !epochs_.contains(committer)) {
    return ResourceExhausted(Cat("too many transactional IDs (limit ", kMaxCommitters, ")"));
  }
  return OkStatus();
}

void CommittedGroups::AddTo(CheckpointFrames* frames) const {
  for (const auto& [key, at] : positions_) {
    frames->Open().positions.push_back({std::get<0>(key), std::get<1>(key), at});
  }
  for (const auto& [id, epoch] : epochs_) frames->Open().epochs.push_back({id, epoch});
}

}  // namespace pitwall::log
