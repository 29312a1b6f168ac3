// Bytes that a job has read but cannot apply yet, and their limit.
//
// The count depends only on the input, never on malloc or the machine. A replay must drop the same
// data, because data dropped at the limit affects verdicts. The count approximates the actual
// memory. It does not include windows, which are limited by series and rules (limits.h,
// rules.limits).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "services/engine/sources/source.h"
#include "services/engine/sources/timeline.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

enum class PendingKind : size_t { kSamples, kTimelineEvents, kSchemas, kSources, kCount };
// Names of the kinds in statuses and metrics.
inline constexpr std::array<std::string_view, static_cast<size_t>(PendingKind::kCount)> kHeldNames =
    {"samples above the watermark", "promises and events above the watermark",
     "descriptors of series", "sources"};

// Not thread-safe.
class PendingBytes {
 public:
  explicit PendingBytes(size_t limit) : limit_(limit) {}

  bool Fits(size_t bytes) const { return bytes <= limit_ && total_ <= limit_ - bytes; }
  // Returns false and changes nothing if the job would exceed the limit.
  bool Take(PendingKind what, size_t bytes) {
    if (!Fits(bytes)) return false;
    Force(what, bytes);
    return true;
  }
  // Adds bytes regardless of the limit, for data that is already held or that the engine creates.
  void Force(PendingKind what, size_t bytes) {
    held_[static_cast<size_t>(what)] += bytes;
    total_ += bytes;
  }
  void Give(PendingKind what, size_t bytes) {
    held_[static_cast<size_t>(what)] -= bytes;
    total_ -= bytes;
  }
  void Set(PendingKind what, size_t bytes) {
    Give(what, held(what));
    Force(what, bytes);
  }
  void Clear() {
    held_ = {};
    total_ = 0;
  }

  size_t held(PendingKind what) const { return held_[static_cast<size_t>(what)]; }
  size_t total() const { return total_; }
  size_t limit() const { return limit_; }
  // The kind with the most bytes.
  PendingKind largest() const {
    size_t most = 0;
    for (size_t i = 1; i < held_.size(); ++i) most = held_[i] > held_[most] ? i : most;
    return static_cast<PendingKind>(most);
  }
  std::string_view largest_name() const { return kHeldNames[static_cast<size_t>(largest())]; }

 private:
  const size_t limit_;
  std::array<size_t, static_cast<size_t>(PendingKind::kCount)> held_{};
  size_t total_ = 0;
};

// Fixed overhead: the object, its node in a map or queue, and the heap's overhead.
inline size_t HeldBytes(const PendingFrame& frame) {
  return 320 + frame.mode.size() +
         8 * (frame.times.size() + frame.steps.size() + frame.values.size());
}
inline size_t HeldBytes(const Schema& schema) {
  size_t bytes = 512;
  for (const SeriesDescriptor& series : schema.series) {
    bytes += 64;
    for (const Label& label : series.labels) bytes += 64 + label.name.size() + label.value.size();
  }
  return bytes;
}
// Returns the bytes of a source, excluding its schemas and frames.
inline size_t HeldBytes(const Source& source) {
  return 2048 + 2 * (source.id.size() + source.boot.size()) + source.info.node.size();
}

}  // namespace pitwall::engine
