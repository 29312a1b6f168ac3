#include "services/history/windows/series_set.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::history {

size_t KnownSeries::bytes() const {
  // Labels are not counted, because schemas own them.
  size_t bytes = table->series.size() * (sizeof(SeriesDescriptor) + sizeof(uint32_t));
  for (const auto& [id, wanted] : schemas)
    bytes += 100 + 4 * (wanted->columns.size() + wanted->series.size());
  return bytes;
}

SeriesSet::SeriesSet(std::vector<Selector> selectors, size_t limit, const SchemaPool* pool,
                     std::string_view job, std::shared_ptr<const KnownSeries> known)
    : selectors_(std::move(selectors)),
      limit_(limit),
      pool_(pool),
      job_(job),
      known_(std::move(known)) {
  for (const Selector& selector : selectors_) names_.push_back(selector.MetricName());
  const auto open = [](std::string_view name) { return name.empty(); };
  if (std::any_of(names_.begin(), names_.end(), open)) names_.clear();
}

// The name is compared first. It is almost always the first label, and it matches only a few of a
// schema's many series.
bool SeriesSet::Wants(const Labels& labels) const {
  if (selectors_.empty()) return true;
  if (!names_.empty() && !labels.empty() && labels.begin()->name == kMetricName &&
      std::find(names_.begin(), names_.end(), labels.begin()->value) == names_.end())
    return false;
  return std::any_of(selectors_.begin(), selectors_.end(),
                     [&](const Selector& s) { return s.Matches(labels); });
}

std::vector<uint32_t> SeriesSet::Candidates(const Schema& schema) const {
  std::vector<uint32_t> out;
  const auto known = pool_ == nullptr || names_.empty() ? nullptr : pool_->Columns(job_, schema.id);
  if (known == nullptr) {
    out.resize(schema.series.size());
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  out = known->unnamed;
  for (const std::string_view name : names_) {
    const auto at = known->of_metric.find(name);
    if (at != known->of_metric.end()) out.insert(out.end(), at->second.begin(), at->second.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

StatusOr<const WantedColumns*> SeriesSet::Of(const Schema& schema) {
  if (const WantedColumns* const met = Known(schema.id); met != nullptr) return met;
  if (known_ != nullptr) Extend();
  auto wanted = std::make_shared<WantedColumns>();
  for (const uint32_t i : Candidates(schema)) {
    const SeriesDescriptor& series = schema.series[i];
    if (!Wants(series.labels)) continue;
    const auto known = index_.find(series.labels);
    const uint32_t number = known != index_.end() ? *known : static_cast<uint32_t>(all_.size());
    if (known == index_.end()) {
      if (all_.size() >= limit_) {
        return ResourceExhausted(
            Cat("series: more than ", limit_, " match; narrow the selectors, or raise the limit"));
      }
      all_.push_back({series.labels, series.kind});
      index_.insert(number);
    }
    two_kinds_ |= all_[number].kind != series.kind;
    wanted->columns.push_back(i);
    wanted->series.push_back(number);
  }
  return schemas_.emplace(schema.id, std::move(wanted)).first->second.get();
}

void SeriesSet::Extend() {
  all_ = known_->table->series;
  schemas_ = known_->schemas;
  known_ = nullptr;
  index_.reserve(all_.size());
  for (uint32_t i = 0; i < all_.size(); ++i) index_.insert(i);
}

std::shared_ptr<const KnownSeries> SeriesSet::Take() {
  if (known_ != nullptr) return std::exchange(known_, nullptr);
  index_.clear();
  auto out = std::make_shared<KnownSeries>();
  out->table = MakeSeriesTable(std::exchange(all_, {}));
  out->schemas = std::exchange(schemas_, {});
  return out;
}

// Names are sorted once instead of being compared for each pair of series. The metric name is
// almost always the first label.
std::vector<uint32_t> SeriesSet::InOrder() const {
  std::map<std::string_view, std::vector<uint32_t>> named;
  std::vector<uint32_t> order;
  const std::vector<SeriesDescriptor>& all = this->all();
  const auto name_of = [&](uint32_t i) {
    const Labels& labels = all[i].labels;
    return labels.empty() || labels.begin()->name != kMetricName
               ? std::string_view()
               : std::string_view(labels.begin()->value);
  };
  absl::flat_hash_map<std::string_view, std::vector<uint32_t>*> lists;
  for (uint32_t i = 0; i < all.size(); ++i) {
    const std::string_view name = name_of(i);
    if (name.empty()) {  // without a name, all labels must be compared
      order.resize(all.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(),
                [&](uint32_t a, uint32_t b) { return all[a].labels < all[b].labels; });
      return order;
    }
    std::vector<uint32_t>*& list = lists[name];
    if (list == nullptr) list = &named[name];
    list->push_back(i);
  }
  order.reserve(all.size());
  for (auto& [name, list] : named) {
    std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      const Labels& x = all[a].labels;
      const Labels& y = all[b].labels;
      return std::lexicographical_compare(x.begin() + 1, x.end(), y.begin() + 1, y.end());
    });
    order.insert(order.end(), list.begin(), list.end());
  }
  return order;
}

}  // namespace pitwall::history
