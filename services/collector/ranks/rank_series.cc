#include "services/collector/ranks/rank_series.h"

#include <algorithm>
#include <utility>

#include "services/base/clock.h"
#include "services/collector/ranks/client_update.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr int64_t kSchemaRepeatNs = 5 * kNanosPerSecond;
constexpr size_t kMaxStepModes = 16;

}  // namespace

void RankSeries::AddMode(const std::string& mode) {
  const auto at = std::lower_bound(step_modes_.begin(), step_modes_.end(), mode);
  if (at != step_modes_.end() && *at == mode) return;
  if (step_modes_.size() < kMaxStepModes) step_modes_.insert(at, mode);
}

void RankSeries::Add(const pb::Update& update, UpdateProgress* progress, Batch* batch) {
  AddParts(update, progress, batch);
  const bool replayed = progress->replayed();
  const bool repeat = !replayed && batch->promise.ns() - schemas_sent_ns_ >= kSchemaRepeatNs;
  if (repeat) schemas_sent_ns_ = batch->promise.ns();
  series_.Flush(batch->promise.ns(), repeat, batch);
  for (const std::string& mode : series_.modes()) AddMode(mode);
  progress->ReleaseEnded(series_);
  if (replayed) {  // sent by the previous collector
    drops_ = series_.drops();
  } else {
    CountDrops();
  }
}

void RankSeries::AddParts(const pb::Update& update, UpdateProgress* progress, Batch* batch) {
  batch->spans.reserve(static_cast<size_t>(update.spans_size()));
  for (const pb::Span& in : update.spans()) {
    Span span = SpanOf(in);
    series_.AddSpan(span);
    if (span.kind == Span::Kind::kPhase) progress->Hold(span.mode, span.step);
    batch->spans.push_back(std::move(span));
  }
  steps::LoggedValue value;
  for (const pb::Value& in : update.values()) {
    Convert(in, &value);
    series_.AddValue(value);
    progress->Hold(value.mode, value.step);
  }
  series_.SetCurrent(update.phase(), update.phase_since_unix_ns(), StepOf(update.step_plus_one()),
                     update.mode());
  for (const pb::StepPromise& in : update.step_promises()) {
    AddMode(in.mode());
    if (in.below_step() > 0)
      batch->step_promises.push_back({in.mode(), static_cast<int64_t>(in.below_step()) - 1});
  }
}

void RankSeries::Finish(Batch* batch) {
  series_.Finish(batch->promise.ns(), batch);
  for (const std::string& mode : series_.modes()) AddMode(mode);
  CountDrops();
}

void RankSeries::CountDrops() {
  for (size_t i = 0; i < steps::kDrops; ++i) {
    const uint64_t now = series_.drops()[i];
    counters_->step_drops[i].fetch_add(now - drops_[i], std::memory_order_relaxed);
    drops_[i] = now;
  }
}

}  // namespace pitwall::collector
