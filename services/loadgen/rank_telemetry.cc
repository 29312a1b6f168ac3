#include "services/loadgen/rank_telemetry.h"

#include <algorithm>
#include <utility>

#include "services/base/clock.h"
#include "services/base/time.h"

namespace pitwall::loadgen {
namespace {

constexpr int64_t kSchemaRepeatNs = 5 * kNanosPerSecond;

steps::Options SeriesOptions(const SourceName& name, int64_t world_size) {
  steps::Options options;
  options.rank = name.info.rank;
  options.world_size = world_size;
  return options;
}

}  // namespace

Batch BeginBatch(const SourceName& name, uint64_t* sequence, int64_t promise_ns) {
  Batch batch;
  batch.job = name.job;
  batch.source = name.source;
  batch.boot_id = name.boot_id;
  batch.info = name.info;
  batch.sequence = ++*sequence;
  batch.promise = EventTime::FromNs(promise_ns);
  return batch;
}

RankTelemetry::RankTelemetry(SourceName name, int64_t world_size)
    : name_(std::move(name)),
      series_(SeriesOptions(name_, world_size)),
      promise_ns_(name_.info.start.ns() - 1) {}

Batch RankTelemetry::Announce(std::optional<JobEvent> event) {
  Batch batch = BeginBatch(name_, &sequence_, promise_ns_);
  if (event.has_value()) batch.events.push_back(*std::move(event));
  return batch;
}

Batch RankTelemetry::Update(const RankNews& news, int64_t promise_ns) {
  promise_ns_ = std::max(promise_ns_, promise_ns);
  if (news.below_step > 0 || !news.phase.empty()) name_.info.step_modes = {std::string(kTrainMode)};
  Batch batch = BeginBatch(name_, &sequence_, promise_ns_);
  for (const Span& span : news.spans) series_.AddSpan(span);
  for (const steps::LoggedValue& value : news.values) series_.AddValue(value);
  series_.SetCurrent(news.phase, news.phase_since_ns, news.step,
                     news.step == kNoStep ? std::string_view() : kTrainMode);
  const bool repeat = promise_ns_ - schemas_sent_ns_ >= kSchemaRepeatNs;
  if (repeat) schemas_sent_ns_ = promise_ns_;
  series_.Flush(promise_ns_, repeat, &batch);
  batch.spans = news.spans;
  if (news.below_step > 0)
    batch.step_promises.push_back({std::string(kTrainMode), news.below_step - 1});
  return batch;
}

Batch RankTelemetry::Finish(Batch batch) {
  series_.Finish(promise_ns_, &batch);
  return batch;
}

Batch RankTelemetry::Goodbye() {
  Batch batch = BeginBatch(name_, &sequence_, promise_ns_);
  batch.goodbye = true;
  return Finish(std::move(batch));
}

Batch RankTelemetry::Event(JobEvent event) {
  promise_ns_ = std::max(promise_ns_, event.time.ns());
  event.time = EventTime::FromNs(promise_ns_);
  Batch batch = BeginBatch(name_, &sequence_, promise_ns_);
  batch.events.push_back(std::move(event));
  return Finish(std::move(batch));
}

Batch RankTelemetry::Lost(int64_t at_ns, int64_t signal) {
  JobEvent event;
  event.kind = JobEvent::Kind::kRankLost;
  event.time = EventTime::FromNs(at_ns);
  event.rank_lost.rank = name_.info.rank;
  event.rank_lost.source = name_.source;
  event.rank_lost.boot_id = name_.boot_id;
  event.rank_lost.signal = static_cast<int32_t>(signal);
  return Event(std::move(event));
}

Batch RankTelemetry::LauncherGone(int64_t at_ns) {
  JobEvent event;
  event.kind = JobEvent::Kind::kLauncherGone;
  event.time = EventTime::FromNs(at_ns);
  return Event(std::move(event));
}

}  // namespace pitwall::loadgen
