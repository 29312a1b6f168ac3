// Committed group positions and committer epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "services/adapters/embedded_log/format/checkpoint_frames.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

inline constexpr size_t kMaxGroupPositions = 1 << 17;
inline constexpr size_t kMaxCommitters = 1 << 17;

// Committed group positions and committer epochs. Not thread-safe.
class CommittedGroups {
 public:
  void Apply(const std::vector<GroupPosition>& positions,
             const std::vector<CommitterEpoch>& epochs);
  std::optional<CommittedOffset> Position(std::string_view group, const PartitionKey& key) const;
  uint64_t Epoch(std::string_view id) const;  // 0 if never opened
  // Returns ResourceExhausted if another group position or committer would exceed the limits.
  Status CheckRoom(const GroupPosition* position, std::string_view committer) const;
  void AddTo(CheckpointFrames* frames) const;

 private:
  using PositionKey = std::tuple<std::string, PartitionKey>;

  std::map<PositionKey, CommittedOffset> positions_;
  std::map<std::string, uint64_t, std::less<>> epochs_;
};

}  // namespace pitwall::log
