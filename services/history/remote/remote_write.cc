#include "services/history/remote/remote_write.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::history {

RemoteWrite::RemoteWrite(Clock* clock, Log* log, HttpTransport* transport, MirrorOptions options,
                         self_metrics::Exposition* exposition)
    : clock_(clock),
      log_(log),
      transport_(transport),
      options_(std::move(options)),
      probe_(exposition) {}

RemoteWrite::~RemoteWrite() { Stop(); }

void RemoteWrite::Start(const std::vector<int32_t>& partitions) {
  for (const int32_t p : partitions) {
    mirrors_.push_back(
        std::make_unique<RemoteWriteWorker>(clock_, log_, transport_, &options_, &counters_, p));
  }
  AddMetrics();
  for (const auto& mirror : mirrors_) mirror->Start();
}

void RemoteWrite::Stop() {
  for (const auto& mirror : mirrors_) mirror->Stop();
}

bool RemoteWrite::idle() const {
  return std::all_of(mirrors_.begin(), mirrors_.end(), [](const auto& mirror) {
    return mirror->lag() == 0 && mirror->behind_ns() == 0;
  });
}

void RemoteWrite::AddMetrics() {
  using self_metrics::Sample;
  probe_.Add("pitwall_insights_remote_write_samples_total", "Samples that the receiver accepted.",
             &counters_.samples);
  probe_.Add("pitwall_insights_remote_write_bytes_total", "Bytes of accepted requests.",
             &counters_.bytes);
  probe_.Add("pitwall_insights_remote_write_requests_total", "Requests, including retries.",
             &counters_.requests);
  probe_.Add("pitwall_insights_remote_write_retries_total",
             "Requests that failed without a response, or with 429 or 5xx.", &counters_.retries);
  probe_.Add("pitwall_insights_remote_write_duplicates_total", "Batches that were already sent.",
             &counters_.duplicates);
  probe_.Add("pitwall_insights_remote_write_input_losses_total",
             "Gaps: parts of the log that were deleted before they were sent.",
             &counters_.input_losses);
  probe_.Add(
      "pitwall_insights_remote_write_log_resets_total",
      "Number of times the log of a telemetry partition was replaced and reading resumed at its "
      "start.",
      &counters_.log_resets);
  probe_.Add("pitwall_insights_remote_write_skipped_records_total",
             "Records older than max_behind that were skipped at startup.",
             &counters_.behind_records);
  const auto dropped = [&](std::string_view reason, const self_metrics::SharedCounter* counter) {
    probe_.Add("pitwall_insights_remote_write_dropped_samples_total", "Unsent samples by reason.",
               counter, {{"reason", reason}});
  };
  dropped("refused", &counters_.refused);
  dropped("repeated", &counters_.repeated);
  dropped("behind", &counters_.behind);
  dropped("no_schema", &counters_.no_schema);
  dropped("ahead", &counters_.ahead);
  dropped("merged", &counters_.merged);
  probe_.AddGauge("pitwall_insights_remote_write_series", "Mirrored series.", [this] {
    size_t series = 0;
    for (const auto& mirror : mirrors_) series += mirror->series();
    return series;
  });
  // This metric has no value until every partition has been checked, because a value of 0 would
  // mean that everything was sent.
  probe_.ListGauges("pitwall_insights_remote_write_lag_records",
                    "Telemetry records that have not been read yet.",
                    [this](std::vector<Sample>* out) {
                      int64_t lag = 0;
                      for (const auto& mirror : mirrors_) {
                        if (mirror->lag() < 0) return;
                        lag += mirror->lag();
                      }
                      out->push_back({Labels(), static_cast<double>(lag)});
                    });
  probe_.AddGauge("pitwall_insights_remote_write_behind_seconds",
                  "Age of the oldest unsent record.", [this] {
                    int64_t behind_ns = 0;
                    for (const auto& mirror : mirrors_)
                      behind_ns = std::max(behind_ns, mirror->behind_ns());
                    return static_cast<double>(behind_ns) / 1e9;
                  });
}

}  // namespace pitwall::history
