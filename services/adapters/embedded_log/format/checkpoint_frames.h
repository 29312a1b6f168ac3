// Checkpoint frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/format/commit_frame.h"

namespace pitwall::log {

// Checkpoint frames, each with a limited number of items.
class CheckpointFrames {
 public:
  explicit CheckpointFrames(uint64_t sequence) : sequence_(sequence) {}

  // Returns the frame for the next item.
  Frame& Open() {
    const size_t items = frames_.empty()
                             ? kItemsPerFrame
                             : frames_.back().ends.size() + frames_.back().positions.size() +
                                   frames_.back().epochs.size() + frames_.back().topics.size() +
                                   frames_.back().segments.size() + frames_.back().lost.size();
    if (items >= kItemsPerFrame) Start(FrameKind::kState);
    return frames_.back();
  }
  // Adds the frame that ends the checkpoint and returns all frames.
  std::vector<Frame> Finish() {
    Start(FrameKind::kCheckpointEnd);
    return std::move(frames_);
  }

 private:
  static constexpr size_t kItemsPerFrame = 512;

  void Start(FrameKind kind) {
    frames_.emplace_back();
    frames_.back().kind = kind;
    frames_.back().sequence = sequence_;
    frames_.back().synced_sequence = sequence_;
  }

  const uint64_t sequence_;
  std::vector<Frame> frames_;
};

}  // namespace pitwall::log
