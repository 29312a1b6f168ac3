#include "services/history/store/waiting_frames.h"

#include <utility>

namespace pitwall::history {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;

size_t BytesOf(const WaitingFrame& frame) { return frame.values.size() * sizeof(double); }

}  // namespace

size_t WaitingFrames::Add(WaitingFrame frame) {
  bytes_ += BytesOf(frame);
  frames_.push_back(std::move(frame));
  size_t dropped = 0;
  for (; bytes_ > kMaxBytes; ++dropped) DropOldest();
  return dropped;
}

std::vector<WaitingFrame> WaitingFrames::Take(uint64_t schema_id) {
  std::vector<WaitingFrame> taken;
  std::deque<WaitingFrame> rest;
  for (WaitingFrame& frame : frames_) {
    if (frame.schema_id == schema_id) {
      bytes_ -= BytesOf(frame);
      taken.push_back(std::move(frame));
    } else {
      rest.push_back(std::move(frame));
    }
  }
  frames_ = std::move(rest);
  return taken;
}

size_t WaitingFrames::DropBefore(int64_t before_ns) {
  size_t dropped = 0;
  for (; !frames_.empty() && frames_.front().since_ns < before_ns; ++dropped) DropOldest();
  return dropped;
}

void WaitingFrames::DropOldest() {
  bytes_ -= BytesOf(frames_.front());
  frames_.pop_front();
}

}  // namespace pitwall::history
