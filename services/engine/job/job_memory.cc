// Bytes that a job holds and cannot apply yet, and refusals beyond its bounds.
#include "services/engine/sources/pending_bytes.h"

#include "services/base/text/strings.h"
#include "services/engine/job/job.h"

namespace pitwall::engine {

void Job::ScheduleRead(int64_t position, Phase phase, const Source& source, uint64_t sequence,
                       uint32_t index, TimelineEvent happening) {
  // How something ends is heard whatever a job holds, if it says so in short.
  constexpr size_t kShort = 4096;
  const bool end = happening.kind == TimelineEvent::Kind::kJobEnded ||
                   happening.kind == TimelineEvent::Kind::kRankLost ||
                   happening.kind == TimelineEvent::Kind::kLauncherGone;
  const size_t bytes =
      Timeline::Bytes({position, phase, source.id, source.boot, sequence, index}, happening);
  if (!memory_.Fits(bytes) && !(end && bytes <= kShort)) {
    RefuseForMemory(1);
    return;
  }
  Schedule(position, phase, source, sequence, index, std::move(happening));
}

// The reason is a fixed text, but for what takes most: each new one is a status event of every
// rule.
void Job::RefuseForMemory(size_t samples) {
  counters_->Count(Drop::kLimit, samples);
  identity_.limit_reason =
      Cat("the job holds more than ", memory_.limit() >> 20,
          " MiB that cannot be applied yet, most of it ",
          kHeldNames[static_cast<size_t>(memory_.largest())],
          ": what came later was refused; raise processor.job_memory or send less");
}

void Job::GiveBack(const Source& source) {
  memory_.Give(PendingKind::kSources, HeldBytes(source));
  for (const auto& [id, binding] : source.schemas)
    memory_.Give(PendingKind::kSchemas, HeldBytes(binding->schema));
}

void Job::CountHeld(const Source& source) {
  memory_.Force(PendingKind::kSources, HeldBytes(source));
  for (const auto& [id, binding] : source.schemas)
    memory_.Force(PendingKind::kSchemas, HeldBytes(binding->schema));
  for (const auto* frames : {&source.pending, &source.waiting}) {
    for (const PendingFrame& frame : *frames)
      memory_.Force(PendingKind::kSamples, HeldBytes(frame));
  }
}

bool Job::TakeMode(const Source& source, const std::string& mode) {
  if (source.HasRoomForMode(mode, options_)) return true;
  counters_->Count(Drop::kLimit);
  identity_.limit_reason =
      Cat("a source has more than ", options_.max_modes_per_source,
          " modes of steps, or one whose name is longer than ", options_.max_mode_bytes, " bytes");
  return false;
}

}  // namespace pitwall::engine
