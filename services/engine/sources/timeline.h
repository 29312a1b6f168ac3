// Events of a job other than samples, in event-time order. The job applies each input (an event or
// a row from any source) only after the watermark passes it, in order of (time, phase, source,
// boot, sequence, index). Therefore, the arrival order of batches has no effect (time-model.md 2.6,
// 2.8).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// Phases within one event time. Starts come before samples; ends and promises come after them.
enum class Phase : uint8_t { kBegin, kRow, kEnd };

struct TimelineEventKey {
  EventTime time;
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
    kModes,        // announced step modes: `modes`
    kStepPromise,  // `mode`, `step`
    kLeave,        // became idle: its series end
    kJobStarted,
    kJobEnded,
    kJobNotice,
    kGoodbye,       // ended normally: its series end
    kRankLost,      // `event`
    kLauncherGone,  // on the source's node
    kGraceOver,     // created by the engine: the restart grace period has passed
  };
  Kind kind = Kind::kBoot;
  std::string mode;
  Step step = Step::None();
  std::vector<std::string> modes;
  JobEvent event;
};

// Sorted events. The caller limits the total size of events from batches.
class Timeline {
 public:
  void Add(TimelineEventKey key, TimelineEvent happening);
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  // Approximate memory use. Depends only on the contents.
  size_t bytes() const { return bytes_; }
  static size_t Bytes(const TimelineEventKey& key, const TimelineEvent& happening);
  // Returns the next event at or before `upto`, or null. Applying an event may add later events.
  const TimelineEventKey* FirstUpTo(EventTime upto) const;
  std::pair<TimelineEventKey, TimelineEvent> TakeFirst();

  void Save(BinaryWriter& out) const;
  Status Restore(BinaryReader& in);

 private:
  absl::btree_map<TimelineEventKey, TimelineEvent> items_;
  size_t bytes_ = 0;  // Of items_.
};

}  // namespace pitwall::engine
