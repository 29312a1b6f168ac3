#include "services/engine/recording/rule_output.h"

#include <algorithm>
#include <numeric>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::engine {

namespace {

Labels OutputLabels(const plan::Rule& rule, const eval::Vector& result, size_t element) {
  Labels labels = result.labels(element);
  for (const plan::Template& label : rule.labels) labels = labels.With(label.name, label.text);
  return labels.With(kMetricName, rule.alert);
}

}  // namespace

Status RuleOutput::Bind(const plan::Rule& rule, const eval::Vector& result, SeriesWriter* writer) {
  elements_.ids.clear();
  elements_.outputs.clear();
  std::vector<Labels> labels_of;
  for (size_t i = 0; i < result.size(); ++i) {
    Labels labels = OutputLabels(rule, result, i);
    ASSIGN_OR_RETURN(const window::SeriesId id, writer->Intern(labels));
    elements_.ids.push_back(id);
    labels_of.push_back(std::move(labels));
  }
  std::vector<uint32_t> order(labels_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return labels_of[a] < labels_of[b]; });
  const auto equal = [&](uint32_t a, uint32_t b) { return labels_of[a] == labels_of[b]; };
  if (std::adjacent_find(order.begin(), order.end(), equal) != order.end()) {
    elements_.outputs.resize(labels_of.size());
    uint32_t output = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      if (k > 0 && !equal(order[k - 1], order[k])) ++output;
      elements_.outputs[order[k]] = output;
    }
    elements_.seen.assign(output + 1, 0);
    elements_.serial = 0;
  }
  elements_.binding = result.binding;
  return OkStatus();
}

Status RuleOutput::Collect(const plan::Rule& rule, uint32_t limit, const eval::Vector& result,
                           Position position, SeriesWriter* writer) {
  if (result.binding != elements_.binding) RETURN_IF_ERROR(Bind(rule, result, writer));
  samples_.clear();
  ++elements_.serial;
  size_t count = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    if (!result.present[i]) continue;
    ++count;
    if (!elements_.outputs.empty()) {
      uint64_t& seen = elements_.seen[elements_.outputs[i]];
      if (seen == elements_.serial) {
        return InvalidArgument(
            "vector contains metrics with the same labelset after applying rule labels");
      }
      seen = elements_.serial;
    }
    if (elements_.ids[i] != window::SeriesStore::kUnwanted) {
      samples_.emplace_back(elements_.ids[i], result.values[i]);
    } else if (writer->observed()) {
      writer->ReportUnread(OutputLabels(rule, result, i), position, result.values[i]);
    }
  }
  if (limit > 0 && count > limit)
    return ResourceExhausted(Cat("exceeded limit of ", limit, " with ", count, " series"));
  return OkStatus();
}

void RuleOutput::CollectAlerts(const alert::AlertState& alerts, SeriesWriter* writer) {
  samples_.clear();
  for (size_t i = 0; i < alerts.firing() + alerts.pending(); ++i) {
    const alert::ActiveAlert active = alerts.Active(i);
    for (const auto& [labels, value] :
         {std::pair(active.alerts_series, 1.0),
          std::pair(active.for_state_series, active.active_seconds)}) {
      const auto id = writer->Intern(*labels);
      if (id.ok() && *id != window::SeriesStore::kUnwanted) samples_.emplace_back(*id, value);
    }
  }
}

bool RuleOutput::Flush(Position position, SeriesWriter* writer) {
  std::sort(samples_.begin(), samples_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t next = 0;
  for (const window::SeriesId id : written_) {
    while (next < samples_.size() && samples_[next].first < id) ++next;
    if (next == samples_.size() || samples_[next].first != id)
      writer->Write(id, position, StaleMarker());
  }
  if (samples_.empty() && written_.empty()) return false;
  written_.clear();
  for (const auto& [id, value] : samples_) {
    // If another rule has already written the series at this tick, that rule also writes its stale
    // marker.
    if (writer->Write(id, position, value)) written_.push_back(id);
  }
  return true;
}

bool RuleOutput::Wrote(window::SeriesId id) const {
  return std::binary_search(written_.begin(), written_.end(), id);
}

void RuleOutput::Forget(const std::vector<window::SeriesId>& ids) {
  std::erase_if(written_, [&](window::SeriesId id) {
    return std::binary_search(ids.begin(), ids.end(), id);
  });
  elements_.binding = 0;
}

void RuleOutput::Save(BinaryWriter& out) const { SaveIds(written_, out); }

void RuleOutput::Restore(BinaryReader& in) { written_ = ReadIds(in); }

void SaveIds(const std::vector<window::SeriesId>& ids, BinaryWriter& out) {
  out.U64(ids.size());
  for (const window::SeriesId id : ids) out.U64(id.value());
}

std::vector<window::SeriesId> ReadIds(BinaryReader& in) {
  std::vector<window::SeriesId> ids;
  for (size_t n = in.Count(); n > 0; --n)
    ids.push_back(window::SeriesId(static_cast<uint32_t>(in.U64())));
  return ids;
}

}  // namespace pitwall::engine
