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

// Exactly one of `read`, `histogram`, and `lister` is set.
struct Exposition::Item {
  static std::unique_ptr<Item> Of(std::string_view name, std::string_view help,
                                  prometheus::MetricType type, Labels labels) {
    return std::make_unique<Item>(Item{.name = std::string(name),
                                       .help = std::string(help),
                                       .type = type,
                                       .labels = std::move(labels)});
  }

  uint64_t id = 0;
  std::string name;
  std::string help;
  prometheus::MetricType type = prometheus::MetricType::Untyped;
  Labels labels;
  std::function<double()> read;  // value of a counter or gauge
  const Histogram* histogram = nullptr;
  SampleLister lister;
};

Registration::Registration(Registration&& other) noexcept
    : exposition_(std::exchange(other.exposition_, nullptr)), id_(other.id_) {}

Registration& Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    if (exposition_ != nullptr) exposition_->Remove(id_);
    exposition_ = std::exchange(other.exposition_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

Registration::~Registration() {
  if (exposition_ != nullptr) exposition_->Remove(id_);
}

Exposition::Exposition() = default;
Exposition::~Exposition() = default;

Registration Exposition::Insert(std::unique_ptr<Item> item) {
  PITWALL_CHECK(ValidName(item->name, true));
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
  const uint64_t id = item->id;
  items_.push_back(std::move(item));
  return Registration(this, id);
}

void Exposition::Remove(uint64_t id) {
  MutexLock lock(&mutex_);
  std::erase_if(items_, [id](const auto& item) { return item->id == id; });
}

Registration Exposition::Add(std::string_view name, std::string_view help, Labels labels,
                             const Counter* counter) {
  auto item = Item::Of(name, help, prometheus::MetricType::Counter, std::move(labels));
  item->read = [counter] { return static_cast<double>(counter->value()); };
  return Insert(std::move(item));
}

Registration Exposition::Add(std::string_view name, std::string_view help, Labels labels,
                             const SharedCounter* counter) {
  auto item = Item::Of(name, help, prometheus::MetricType::Counter, std::move(labels));
  item->read = [counter] { return static_cast<double>(counter->value()); };
  return Insert(std::move(item));
}

Registration Exposition::Add(std::string_view name, std::string_view help, Labels labels,
                             const Gauge* gauge) {
  auto item = Item::Of(name, help, prometheus::MetricType::Gauge, std::move(labels));
  item->read = [gauge] { return gauge->value(); };
  return Insert(std::move(item));
}

Registration Exposition::Add(std::string_view name, std::string_view help, Labels labels,
                             const Histogram* histogram) {
  auto item = Item::Of(name, help, prometheus::MetricType::Histogram, std::move(labels));
  item->histogram = histogram;
  return Insert(std::move(item));
}

Registration Exposition::Add(std::string_view name, std::string_view help, MetricType type,
                             SampleLister lister) {
  auto item = Item::Of(name, help,
                       type == MetricType::kCounter ? prometheus::MetricType::Counter
                                                    : prometheus::MetricType::Gauge,
                       Labels());
  item->lister = std::move(lister);
  return Insert(std::move(item));
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
      family.type = item->type;
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
      if (item->lister) {
        listed.clear();
        item->lister(&listed);
        for (const Sample& sample : listed) add_number(sample.labels, sample.value);
      } else if (item->histogram != nullptr) {
        prometheus::ClientMetric metric;
        metric.histogram = Read(*item->histogram);
        add(item->labels, std::move(metric));
      } else {
        add_number(item->labels, item->read());
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
