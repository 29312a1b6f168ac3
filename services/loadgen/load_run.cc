#include "services/loadgen/load_run.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/io/io.h"
#include "services/io/topics.h"
#include "services/loadgen/noise.h"
#include "services/model/position.h"
#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

constexpr int64_t kFirstDelayNs = 2 * kNanosPerMilli;  // minimum delay between a source and the log
constexpr int64_t kJitterMs = 30;
// Must be longer than the interval between two batches of any source.
constexpr int64_t kReorderNs = 700 * kNanosPerMilli;
constexpr int64_t kBetweenLivesNs = 5 * kNanosPerSecond;

uint64_t CountSamples(const Batch& batch) {
  uint64_t count = 0;
  for (const Frame& frame : batch.frames) {
    for (double value : frame.values) count += IsMissing(value) ? 0 : 1;
  }
  return count;
}

// Returns true if the batch may be lost, delayed, or duplicated. Announcements, events, and
// goodbyes are always delivered in order, because their loss would be a different kind of fault.
bool Expendable(const Batch& batch) {
  return batch.events.empty() && !batch.goodbye && !batch.frames.empty();
}

}  // namespace

std::string TotalsJson(const LoadTotals& totals) {
  codec::JsonWriter out;
  out.BeginObject();
  out.Key("totals");
  out.BeginObject();
  for (const auto& [name, value] :
       {std::pair("jobs", totals.jobs), std::pair("batches", totals.batches),
        std::pair("records", totals.records), std::pair("bytes", totals.bytes),
        std::pair("samples", totals.samples), std::pair("spans", totals.spans),
        std::pair("late", totals.late), std::pair("dropped", totals.dropped),
        std::pair("dropped_samples", totals.dropped_samples),
        std::pair("dropped_spans", totals.dropped_spans),
        std::pair("duplicated", totals.duplicated), std::pair("reordered", totals.reordered)}) {
    out.Key(name);
    out.Uint(value);
  }
  out.EndObject();
  out.EndObject();
  return out.Take();
}

LoadRun::LoadRun(const LoadPlan& plan, LoadSink* sink)
    : plan_(plan), sink_(sink), end_ns_(plan.start_ns + plan.duration_ns) {}

void LoadRun::StartJob(size_t index, int64_t at_ns) {
  Slot& slot = slots_[index];
  const uint64_t seed = Mix(plan_.seed, index, slot.lives);
  int64_t end_ns = end_ns_;
  if (plan_.life_ns != kNever) {
    const double share = 0.5 + Uniform(Mix(seed, 0x11fe));
    end_ns =
        std::min(end_ns, at_ns + static_cast<int64_t>(share * static_cast<double>(plan_.life_ns)));
  }
  std::vector<Fault> faults;
  for (const Fault& fault : plan_.faults) {
    if (slot.lives == 0 && fault.job == static_cast<int64_t>(index)) faults.push_back(fault);
  }
  const std::string id = Cat(plan_.name, "-", index, slot.lives == 0 ? "" : Cat("-", slot.lives));
  slot.job = std::make_unique<LoadJob>(plan_, seed, id, at_ns, end_ns, std::move(faults));
  ++slot.lives;
  ++totals_.jobs;
  slot.left = slot.job->actors();
  slot.arrived_ns.assign(slot.left, 0);
  for (size_t a = 0; a < slot.job->actors(); ++a)
    turns_.push({slot.job->FirstNs(a), ++order_, index, a});
}

Status LoadRun::Run(const std::function<void(const Planted&)>& begun,
                    const std::atomic<bool>* stop) {
  slots_.resize(static_cast<size_t>(plan_.jobs));
  next_tick_ns_ = plan_.start_ns;
  for (size_t i = 0; i < slots_.size(); ++i) StartJob(i, plan_.start_ns);
  while (!turns_.empty() && !(stop != nullptr && stop->load())) {
    const Turn turn = turns_.Take();
    RETURN_IF_ERROR(DeliverUntil(turn.at_ns));
    RETURN_IF_ERROR(sink_->Reach(turn.at_ns));
    Slot& slot = slots_[turn.slot];
    const int64_t next =
        slot.job->Act(turn.actor, turn.at_ns, [&](int64_t at_ns, size_t actor, const Batch& batch) {
          Send(turn.slot, actor, at_ns, batch);
        });
    if (begun != nullptr) {
      for (const Planted& planted : slot.job->TakePlanted()) begun(planted);
    }
    if (next < kNever) {
      turns_.push({next, ++order_, turn.slot, turn.actor});
    } else if (--slot.left == 0) {
      slot.job.reset();
      if (turn.at_ns + kBetweenLivesNs < end_ns_ && plan_.life_ns != kNever)
        StartJob(turn.slot, turn.at_ns + kBetweenLivesNs);
    }
  }
  return DeliverUntil(kNever);
}

void LoadRun::Send(size_t slot, size_t actor, int64_t at_ns, const Batch& batch) {
  const uint64_t samples = CountSamples(batch);
  ++totals_.batches;
  totals_.samples += samples;
  totals_.spans += batch.spans.size();
  const uint64_t bits = Mix(Mix(plan_.seed, slots_[slot].lives, slot), actor, batch.sequence);
  const bool expendable = Expendable(batch);
  if (expendable && Uniform(Mix(bits, 1)) < plan_.delivery.dropped) {
    ++totals_.dropped;
    totals_.dropped_samples += samples;
    totals_.dropped_spans += batch.spans.size();
    return;
  }
  int64_t arrival =
      at_ns + kFirstDelayNs + kNanosPerMilli * static_cast<int64_t>(Mix(bits) % kJitterMs);
  int64_t& last = slots_[slot].arrived_ns[actor];
  if (expendable && Uniform(Mix(bits, 2)) < plan_.delivery.late) {
    ++totals_.late;
    arrival += static_cast<int64_t>(Uniform(Mix(bits, 3)) *
                                    static_cast<double>(plan_.delivery.late_by_ns));
  }
  arrival = std::max(arrival, last + 1);
  if (expendable && Uniform(Mix(bits, 4)) < plan_.delivery.reordered) {
    ++totals_.reordered;
    arrival += kReorderNs;  // the next batch of the source may overtake this batch
  } else {
    last = arrival;
  }
  encoder_.Encode(batch, &bytes_);
  if (expendable && Uniform(Mix(bits, 5)) < plan_.delivery.duplicated) {
    ++totals_.duplicated;
    on_the_way_.push({arrival + static_cast<int64_t>(Mix(bits, 6) % (2 * kNanosPerSecond)),
                      ++order_, batch.job, bytes_});
  }
  on_the_way_.push({arrival, ++order_, batch.job, std::move(bytes_)});
  bytes_.clear();
}

Status LoadRun::DeliverUntil(int64_t at_ns) {
  while (!on_the_way_.empty() && on_the_way_.top().arrival_ns <= at_ns) {
    OnTheWay next = on_the_way_.Take();
    if (plan_.ticks) RETURN_IF_ERROR(Tick(next.arrival_ns));
    ++totals_.records;
    totals_.bytes += next.value.size();
    RETURN_IF_ERROR(sink_->Deliver(next.arrival_ns, next.key, std::move(next.value), kByKey));
  }
  return OkStatus();
}

// Writes the clock ticks that each partition's owner would have written.
Status LoadRun::Tick(int64_t at_ns) {
  for (; next_tick_ns_ <= at_ns; next_tick_ns_ += kNanosPerSecond) {
    ControlRecord tick;
    tick.elapsed = Duration::Seconds(ticked_ ? 1 : 0);
    ticked_ = true;
    std::string bytes;
    codec::EncodeControl(tick, &bytes);
    for (int32_t p = 0; p < sink_->partitions(); ++p) {
      ++totals_.records;
      totals_.bytes += bytes.size();
      RETURN_IF_ERROR(sink_->Deliver(next_tick_ns_, kControlKey, bytes, p));
    }
  }
  return OkStatus();
}

}  // namespace pitwall::loadgen
