// Events of a job besides samples, in order of event time. The job applies everything (rows
// of all sources and these) only once its watermark has passed it, sorted by (position, phase,
// source, boot, sequence, index): so the order in which sources' batches arrive changes nothing
// (time-model.md 2.6, 2.8).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "services/base/binary.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// Phases at one position: what begins comes before the samples, what ends or promises comes after.
enum class Phase : uint8_t { kBegin, kRow, kEnd };

struct TimelineEventKey {
  int64_t position = 0;
  Phase phase = Phase::kRow;
  std::string source;
  std::string boot;
  uint64_t sequence = 0;
  uint32_t index = 0;
  friend auto operator<=>(const TimelineEventKey&, const TimelineEventKey&) = default;
};

struct TimelineEvent {
  enum class Kind : uint8_t {
    kBoot,         // the source (boot) started
    kModes,        // it announced modes: `modes`
    kStepPromise,  // `mode`, `step`
    kLeave,        // it went idle: its series end
    kJobStarted,
    kJobEnded,
    kJobNotice,
    kGoodbye,       // it ended in order: its series end
    kRankLost,      // `event`
    kLauncherGone,  // of the source's node
    kGraceOver,     // of the engine itself: the grace for a restart has passed
  };
  Kind kind = Kind::kBoot;
  std::string mode;
  int64_t step = kNoStep;
  std::vector<std::string> modes;
  JobEvent event;
};

// Ordered; whoever adds what a batch brought bounds its bytes.
class Timeline {
 public:
  void Add(TimelineEventKey key, TimelineEvent happening);
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  // About the memory it takes; a function of what is in it.
  size_t bytes() const { return bytes_; }
  static size_t Bytes(const TimelineEventKey& key, const TimelineEvent& happening);
  // Null when there is nothing at or before `upto`. What is applied may add what comes later.
  const TimelineEventKey* FirstUpTo(int64_t upto) const;
  std::pair<TimelineEventKey, TimelineEvent> TakeFirst();

  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in);

 private:
  absl::btree_map<TimelineEventKey, TimelineEvent> items_;
  size_t bytes_ = 0;  // of items_
};

}  // namespace pitwall::engine
