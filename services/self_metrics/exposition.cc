#include "services/self_metrics/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "services/base/check.h"

namespace pitwall::self_metrics {
namespace {

bool ValidName(std::string_view name, bool colons) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [colons](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (colons && c == ':');
  });
}

// Samples and metadata for one metric name in a scrape.
struct Family {
  const std::string* help = nullptr;
  prometheus::MetricType type = prometheus::MetricType::Untyped;
  std::map<Labels, prometheus::ClientMetric> samples;
};

std::vector<prometheus::ClientMetric::Label> ToPrometheus(const Labels& labels) {
  std::vector<prometheus::ClientMetric::Label> out;
  for (const Label& label : labels) {
    if (ValidName(label.name, false)) out.push_back({label.name, label.value});
  }
  return out;
}

prometheus::MetricType ToPrometheus(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram Read(const Histogram& histogram) {
  prometheus::ClientMetric::Histogram out;
  const std::vector<double>& bounds = histogram.bounds();
  for (size_t i = 0; i < bounds.size(); ++i) {
    out.sample_count += histogram.count(i);
    out.bucket.push_back({out.sample_count, bounds[i]});
  }
  out.sample_count += histogram.count(bounds.size());
  // The count is the sum of the buckets that were read, so the output is consistent even during
  // concurrent writes.
  out.sample_sum = histogram.sum();
  return out;
}

}  // namespace

struct Exposition::Item {
  uint64_t id = 0;
  std::string name;
  std::string help;
  MetricType type = MetricType::kGauge;
  Labels labels;
  SampleSource source;
};

Exposition::Exposition() = default;
Exposition::~Exposition() = default;

uint64_t Exposition::Insert(std::string_view name, std::string_view help, MetricType type,
                            Labels labels, SampleSource source) {
  PITWALL_CHECK(ValidName(name, true));
  auto item = std::make_unique<Item>(Item{.id = 0,
                                          .name = std::string(name),
                                          .help = std::string(help),
                                          .type = type,
                                          .labels = std::move(labels),
                                          .source = std::move(source)});
  // prometheus-cpp 1.0.1 does not escape help texts, but newer versions do. Help texts without
  // special characters work with any version.
  for (char& c : item->help) {
    if (c == '\n' || c == '\r') c = ' ';
    if (c == '\\') c = '/';
  }
  MutexLock lock(&mutex_);
  for (const auto& other : items_) {
    PITWALL_CHECK(other->name != item->name || other->type == item->type);
  }
  item->id = next_id_++;
  items_.push_back(std::move(item));
  return items_.back()->id;
}

void Exposition::Remove(uint64_t id) {
  MutexLock lock(&mutex_);
  std::erase_if(items_, [id](const auto& item) { return item->id == id; });
}

std::string Exposition::Render() const {
  std::map<std::string, Family, std::less<>> families;
  uint64_t omitted = 0;
  const std::string omitted_help =
      "Samples omitted from this scrape: too many, or duplicate labels.";
  {
    MutexLock lock(&mutex_);
    std::vector<Sample> listed;
    for (const auto& item : items_) {
      Family& family = families[item->name];
      if (family.help == nullptr) family.help = &item->help;
      family.type = ToPrometheus(item->type);
      const auto add = [&](const Labels& labels, prometheus::ClientMetric metric) {
        if (family.samples.size() >= kMaxSamplesPerFamily || family.samples.contains(labels)) {
          ++omitted;
          return;
        }
        metric.label = ToPrometheus(labels);
        family.samples.emplace(labels, std::move(metric));
      };
      const auto add_number = [&](const Labels& labels, double value) {
        prometheus::ClientMetric metric;
        metric.counter.value = metric.gauge.value = value;
        add(labels, std::move(metric));
      };
      if (const auto* const lister = std::get_if<SampleLister>(&item->source)) {
        listed.clear();
        (*lister)(&listed);
        for (const Sample& sample : listed) add_number(sample.labels, sample.value);
      } else if (const auto* const histogram = std::get_if<const Histogram*>(&item->source)) {
        prometheus::ClientMetric metric;
        metric.histogram = Read(**histogram);
        add(item->labels, std::move(metric));
      } else {
        add_number(item->labels, std::get<std::function<double()>>(item->source)());
      }
    }
    Family& own = families["pitwall_metrics_omitted_samples"];
    own.help = &omitted_help;
    own.type = prometheus::MetricType::Gauge;
    prometheus::ClientMetric metric;
    metric.gauge.value = static_cast<double>(omitted);
    own.samples.emplace(Labels(), std::move(metric));

    std::vector<prometheus::MetricFamily> out;
    for (auto& [name, family] : families) {
      if (family.samples.empty()) continue;
      prometheus::MetricFamily& f = out.emplace_back();
      f.name = name;
      f.help = *family.help;
      f.type = family.type;
      for (auto& [labels, sample] : family.samples) f.metric.push_back(std::move(sample));
    }
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, out);
    return text.str();
  }
}

}  // namespace pitwall::self_metrics
