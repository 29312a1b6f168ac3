#include "services/processor/partition/memory_gate.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::processor {

namespace {

constexpr Duration kMeasureEvery = Duration::Seconds(5);
constexpr size_t kMeasureEveryBytes = 16 << 20;  // measured in input bytes

}  // namespace

MemoryGate::MemoryGate(int32_t partition, Clock* clock, MemoryBudget* budget)
    : partition_(partition), clock_(clock), wakeup_(clock->NewWakeup()) {
  if (budget != nullptr) account_ = budget->Open(Cat("partition ", partition));
}

void MemoryGate::Measure(const engine::Shard& shard) {
  const MonotonicTime now = clock_->Monotonic();
  if (now < measure_at_ && uncounted_bytes_ < kMeasureEveryBytes) return;
  measure_at_ = now + kMeasureEvery;
  uncounted_bytes_ = 0;
  bytes_ = 0;
  const engine::Job* largest = nullptr;
  size_t most = 0;
  for (const engine::Job* job : shard.jobs().All()) {
    const size_t bytes = job->MemoryBytes();
    bytes_ += bytes;
    if (largest != nullptr && bytes <= most) continue;
    largest = job;
    most = bytes;
  }
  if (account_ == nullptr) return;
  LargestPart part;
  if (largest != nullptr) {
    const engine::PendingBytes& held = largest->state().sources().memory();
    const engine::PendingKind what = held.largest();
    part = {
        Cat("job ", Quote(largest->state().identity.id)), most,
        Cat(held.held(what) >> 20, " MiB of it ", engine::kHeldNames[static_cast<size_t>(what)])};
  }
  account_->Set(bytes_, std::move(part));
}

bool MemoryGate::Pause() {
  if (paused_) return false;
  paused_ = true;
  PITWALL_LOG(kWarning, "processor", "partition ", partition_, ": ", account_->WhyPaused());
  return true;
}

void MemoryGate::Resume() {
  if (!paused_) return;
  paused_ = false;
  PITWALL_LOG(kInfo, "processor", "partition ", partition_,
              ": reading resumed because memory is available again");
}

}  // namespace pitwall::processor
