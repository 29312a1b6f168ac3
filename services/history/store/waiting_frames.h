// Frames that are waiting for their schema.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "services/history/windows/span_list.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// Copy of a frame that is waiting for its schema.
struct WaitingFrame {
  OriginPtr origin;
  uint64_t schema_id = 0;
  uint64_t sequence = 0;
  std::string mode;
  std::vector<int64_t> times, steps;
  std::vector<double> values;
  int64_t since_ns = 0;          // monotonic time
  std::vector<int64_t> windows;  // starts of the windows that accepted the batch

  // Returns a frame that refers to this copy.
  Frame View() const { return {schema_id, times, steps, mode, values}; }
};

// Queue of waiting frames, oldest first. Its size is bounded. Not thread-safe.
class WaitingFrames {
 public:
  // Adds a frame. If the values then exceed the limit, drops the oldest frames. Returns the number
  // of dropped frames.
  size_t Add(WaitingFrame frame);
  // Removes and returns the frames with the schema, oldest first.
  std::vector<WaitingFrame> Take(uint64_t schema_id);
  // Drops frames that have waited since before `before_ns`, and returns their number.
  size_t DropBefore(int64_t before_ns);
  bool empty() const { return frames_.empty(); }

 private:
  void DropOldest();

  std::deque<WaitingFrame> frames_;
  size_t bytes_ = 0;  // size of all values
};

}  // namespace pitwall::history
