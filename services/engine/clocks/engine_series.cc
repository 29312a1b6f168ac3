#include "services/engine/clocks/engine_series.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/engine/sources/silent_nodes.h"
#include "services/model/value.h"

namespace pitwall::engine {

EngineSeries::EngineSeries(const EngineOptions& options, const JobClock* clock,
                           ClockDomains* domains, RowWriter* writer, JobBaselines* baselines)
    : options_(options), clock_(clock), domains_(domains), writer_(writer), baselines_(baselines) {}

void EngineSeries::Write(EventTime at, const Labels& labels, double value) {
  writer_->WriteSample(domains_->time(), PositionOf(at), labels, value);
}

EventTime EngineSeries::TimeAfter(EventTime at) const {
  return std::max(at, written_at_.value_or(EventTime::Earliest())).Next();
}

void EngineSeries::Flag(std::string_view source, std::string_view node, std::string_view reason,
                        bool on) {
  const Labels labels({{kMetricName, "pitwall_source_flagged"},
                       {"source", source},
                       {"node", node},
                       {"reason", reason}});
  if (on) {
    series_[labels] = 1;
  } else if (series_.erase(labels) == 0) {
    return;
  }
  if (!clock_->begun()) return;  // The first tick writes the series.
  written_at_ = TimeAfter(clock_->watermark());
  Write(*written_at_, labels, on ? 1 : StaleMarker());
}

void EngineSeries::BeginAttempt(uint64_t number, EventTime at) {
  const auto is_lost = [](const Labels& labels) {
    return labels.Get(kMetricName) == AttemptFailures::kLost;
  };
  for (auto& [labels, value] : series_) {
    if (is_lost(labels)) value = 0;
  }
  series_[Labels({{kMetricName, "pitwall_job_attempt"}})] = static_cast<double>(number);
  series_[Labels({{kMetricName, "pitwall_job_attempts_begun_total"}})] += 1;
  series_[Labels({{kMetricName, AttemptFailures::kCount}})] = 0;
  written_at_ = std::max(at, written_at_.value_or(EventTime::Earliest()).Next());
  for (const auto& [labels, value] : series_) Write(*written_at_, labels, value);
  std::erase_if(series_, [&](const auto& series) { return is_lost(series.first); });
}

void EngineSeries::WriteFailures(EventTime tick, AttemptFailures::Values values) {
  for (auto& [labels, value] : values) {
    Write(tick, labels, value);
    series_[std::move(labels)] = value;
  }
}

void EngineSeries::WriteSilentNodes(std::map<std::string, uint64_t, std::less<>> silent) {
  std::vector<std::pair<Labels, double>> changes;
  for (const auto& [labels, value] : series_) {
    if (labels.Get(kMetricName) != kNodeSilentRanks) continue;
    const auto found = silent.find(labels.Get("node"));
    if (found == silent.end()) {
      changes.emplace_back(labels, StaleMarker());
    } else if (static_cast<double>(found->second) == value) {
      silent.erase(found);
    }
  }
  for (const auto& [node, ranks] : silent) {
    changes.emplace_back(Labels({{kMetricName, kNodeSilentRanks}, {"node", node}}),
                         static_cast<double>(ranks));
  }
  if (changes.empty()) return;
  // Writes the series right after the watermark, so that ticks waiting for the nodes' promises also
  // see them.
  written_at_ = TimeAfter(clock_->watermark());
  for (const auto& [labels, value] : changes) {
    Write(*written_at_, labels, value);
    if (IsStale(value)) {
      series_.erase(labels);
    } else {
      series_[labels] = value;
    }
  }
}

void EngineSeries::Repeat(EventTime upto) {
  ClockDomain* time = domains_->time();
  if ((series_.empty() && baselines_->empty()) || time == nullptr) return;
  // Skips points older than the horizon because no window looks back further. This bounds the cost
  // of a long silence.
  EventTime at = !written_at_.has_value()
                     ? upto
                     : NextAfter(std::max(*written_at_, upto - time->ticks().quiet_horizon()),
                                 options_.intervals.own_series_repeat);
  for (; at <= upto; at += options_.intervals.own_series_repeat) {
    written_at_ = at;
    for (const auto& [labels, value] : series_) Write(at, labels, value);
    baselines_->WriteRow(time, PositionOf(at));
  }
}

void EngineSeries::RepeatWritten(EventTime upto) {
  if (written_at_.has_value()) Repeat(upto);
}

void EngineSeries::RestoreTime(BinaryReader& in) {
  const EventTime at = EventTime::FromNs(in.I64());
  written_at_.reset();
  if (at != EventTime::Earliest()) written_at_ = at;
}

void EngineSeries::Save(BinaryWriter& out) const {
  out.U64(series_.size());
  for (const auto& [labels, value] : series_) {
    out.U64(labels.size());
    for (const Label& label : labels) {
      out.Str(label.name);
      out.Str(label.value);
    }
    out.Double(value);
  }
}

void EngineSeries::Restore(BinaryReader& in) {
  for (size_t n = in.Count(9); n > 0; --n) {
    std::vector<Label> labels(in.Count(2));
    for (Label& label : labels) {
      label.name = in.Str();
      label.value = in.Str();
    }
    series_[Labels::FromPairs(std::move(labels))] = in.Double();
  }
}

}  // namespace pitwall::engine
