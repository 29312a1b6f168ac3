#include "services/history/remote/remote_write.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::history {

RemoteWrite::RemoteWrite(Clock* clock, Log* log, HttpTransport* transport, MirrorOptions options)
    : clock_(clock), log_(log), transport_(transport), options_(std::move(options)) {}

RemoteWrite::~RemoteWrite() { Stop(); }

void RemoteWrite::Start(const std::vector<int32_t>& partitions) {
  for (const int32_t p : partitions) {
    mirrors_.push_back(
        std::make_unique<RemoteWriteWorker>(clock_, log_, transport_, &options_, &counters_, p));
  }
  for (const auto& mirror : mirrors_) mirror->Start();
}

void RemoteWrite::Stop() {
  for (const auto& mirror : mirrors_) mirror->Stop();
  registrations_.clear();
}

bool RemoteWrite::idle() const {
  return std::all_of(mirrors_.begin(), mirrors_.end(), [](const auto& mirror) {
    return mirror->lag() == 0 && mirror->behind_ns() == 0;
  });
}

void RemoteWrite::RegisterMetrics(self_metrics::Exposition* exposition) {
  using self_metrics::MetricType;
  using self_metrics::Sample;
  const auto add = [&](std::string_view name, std::string_view help, MetricType type, auto value) {
    registrations_.push_back(exposition->Add(name, help, type, [value](std::vector<Sample>* out) {
      out->push_back({Labels(), static_cast<double>(value())});
    }));
  };
  const auto counter = [&](std::string_view name, std::string_view help,
                           const self_metrics::SharedCounter* value) {
    add(name, help, MetricType::kCounter, [value] { return value->value(); });
  };
  counter("pitwall_insights_remote_write_samples_total", "Samples that the receiver accepted.",
          &counters_.samples);
  counter("pitwall_insights_remote_write_bytes_total", "Bytes of accepted requests.",
          &counters_.bytes);
  counter("pitwall_insights_remote_write_requests_total", "Requests, including retries.",
          &counters_.requests);
  counter("pitwall_insights_remote_write_retries_total",
          "Requests that failed without a response, or with 429 or 5xx.", &counters_.retries);
  counter("pitwall_insights_remote_write_duplicates_total", "Batches that were already sent.",
          &counters_.duplicates);
  counter("pitwall_insights_remote_write_input_losses_total",
          "Gaps: parts of the log that were deleted before they were sent.",
          &counters_.input_losses);
  counter(
      "pitwall_insights_remote_write_log_resets_total",
      "Number of times the log of a telemetry partition was replaced and reading resumed at its "
      "start.",
      &counters_.log_resets);
  counter("pitwall_insights_remote_write_skipped_records_total",
          "Records older than max_behind that were skipped at startup.", &counters_.behind_records);
  registrations_.push_back(exposition->Add(
      "pitwall_insights_remote_write_dropped_samples_total", "Unsent samples by reason.",
      MetricType::kCounter, [this](std::vector<Sample>* out) {
        const auto reason = [&](std::string_view name, const self_metrics::SharedCounter& value) {
          out->push_back({Labels({{"reason", name}}), static_cast<double>(value.value())});
        };
        reason("refused", counters_.refused);
        reason("repeated", counters_.repeated);
        reason("behind", counters_.behind);
        reason("no_schema", counters_.no_schema);
        reason("ahead", counters_.ahead);
        reason("merged", counters_.merged);
      }));
  add("pitwall_insights_remote_write_series", "Mirrored series.", MetricType::kGauge, [this] {
    size_t series = 0;
    for (const auto& mirror : mirrors_) series += mirror->series();
    return series;
  });
  // This metric has no value until every partition has been checked, because a value of 0 would
  // mean that everything was sent.
  registrations_.push_back(exposition->Add("pitwall_insights_remote_write_lag_records",
                                           "Telemetry records that have not been read yet.",
                                           MetricType::kGauge, [this](std::vector<Sample>* out) {
                                             int64_t lag = 0;
                                             for (const auto& mirror : mirrors_) {
                                               if (mirror->lag() < 0) return;
                                               lag += mirror->lag();
                                             }
                                             out->push_back({Labels(), static_cast<double>(lag)});
                                           }));
  add("pitwall_insights_remote_write_behind_seconds", "Age of the oldest unsent record.",
      MetricType::kGauge, [this] {
        int64_t behind_ns = 0;
        for (const auto& mirror : mirrors_) behind_ns = std::max(behind_ns, mirror->behind_ns());
        return static_cast<double>(behind_ns) / 1e9;
      });
}

}  // namespace pitwall::history
