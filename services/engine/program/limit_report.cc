#include "services/engine/program/limit_report.h"

#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

LimitReport::LimitReport(const EngineOptions& options, JobIdentity* job, EngineCounters* counters)
    : options_(options), job_(job), counters_(counters) {}

void LimitReport::CountSource() {
  counters_->Count(Drop::kLimit);
  job_->limit_reason = Cat("more than ", options_.max_sources_per_job, " sources");
}

void LimitReport::CountMode() {
  counters_->Count(Drop::kLimit);
  job_->limit_reason = Cat("a source has more than ", options_.source.max_modes,
                           " step modes, or a mode with a name longer than ",
                           options_.source.max_mode_bytes, " bytes");
}

void LimitReport::CountPending(size_t samples, size_t limit_bytes, std::string_view largest) {
  counters_->Count(Drop::kLimit, samples);
  job_->limit_reason =
      Cat("the job holds more than ", limit_bytes >> 20, " MiB that cannot be applied yet, mostly ",
          largest, ": later data was dropped; raise processor.job_memory or send less");
}

void LimitReport::NoteSeparateClocks() {
  job_->limit_reason =
      Cat("more than ", options_.max_separate_clocks_per_mode,
          " groups of ranks are behind in their steps: steps of further ranks were dropped");
}

void LimitReport::CountSeries(const Status& interned) {
  if (interned.ok()) return;
  counters_->Count(Drop::kLimit);
  job_->limit_reason =
      interned.code() == absl::StatusCode::kOutOfRange
          ? Cat("more than ", FormatBytes(static_cast<double>(window::Limits().max_label_bytes)),
                " of labels")
          : Cat("more than ", options_.max_series_per_job, " series");
}

void LimitReport::CountSamples(const Status& appended, size_t samples, std::string_view waiting) {
  if (appended.ok()) return;
  if (!absl::IsResourceExhausted(appended)) {
    counters_->Count(Drop::kLate, samples);
    return;
  }
  counters_->Count(Drop::kLimit, samples);
  job_->limit_reason = Cat("more than ", options_.max_job_bytes / 4 >> 20, " MiB of ", waiting,
                           ": later samples were dropped");
}

}  // namespace pitwall::engine
