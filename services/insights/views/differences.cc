#include "services/insights/views/differences.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/strings.h"
#include "services/insights/views/statistics.h"
#include "services/model/value.h"

namespace pitwall::insights {
namespace {

constexpr double kMostEffect = 1000;
constexpr double kLeastSpread = 0.01;  // of the level
constexpr int64_t kRowsWanted = 5;     // in the interval; 10 minutes have five stored rows
// Beyond it the median of all stands for the median of the others.
constexpr size_t kManyPeers = 256;

// The floor is the least scale, in the unit of the series.
double EffectOf(double difference, double spread, double level, double floor) {
  if (std::isnan(difference) || std::isnan(level)) return NormalNan();
  if (difference == 0) return 0;
  const double scale = std::max({spread, kLeastSpread * std::fabs(level), floor});
  return std::min(std::fabs(difference) / scale, kMostEffect);  // a scale of 0: the ceiling
}

// Shares of a whole, 1 at their most: a point of percent is the least that counts.
bool IsShare(std::string_view metric, SeriesKind kind) {
  return EndsWith(metric, "_utilization_ratio") || metric == "train_phase_state" ||
         (kind == SeriesKind::kCounter && EndsWith(metric, "_seconds_total"));
}

// Flows whose devices and directions make a whole: 1 % of the greatest is the least that counts.
bool IsFlow(std::string_view metric) {
  return EndsWith(metric, "_io_bytes_total") || EndsWith(metric, "_operations_total") ||
         EndsWith(metric, "_packets_total");
}

double Weight(double effect) { return std::isnan(effect) ? 0 : std::log2(1 + effect); }

// Points of a series: means of rows, or samples; of a counter the rates between neighbours.
struct Points {
  SeriesKind kind = SeriesKind::kGauge;
  std::vector<double> before, inside;
};

class Collector {
 public:
  Collector(const Differences& frame, SeriesKind kind) : frame_(frame), kind_(kind) {}

  void Add(int64_t time_ns, double mean, double last) {
    if (!std::isfinite(last)) return;
    double value = mean;
    if (kind_ == SeriesKind::kCounter) {
      const bool first = last_ns_ < 0;
      const double seconds = static_cast<double>(time_ns - last_ns_) / 1e9;
      value = (last >= last_value_ ? last - last_value_ : last) / seconds;
      last_ns_ = time_ns;
      last_value_ = last;
      if (first) return;
    }
    if (!std::isfinite(value)) return;
    (time_ns < frame_.range.from_ns ? points_.before : points_.inside).push_back(value);
  }
  Points Take() {
    points_.kind = kind_;
    return std::move(points_);
  }

 private:
  const Differences& frame_;
  const SeriesKind kind_;
  int64_t last_ns_ = -1;
  double last_value_ = 0;
  Points points_;
};

Differences FrameOf(const DifferenceQuery& query) {
  Differences out;
  const int64_t length = query.range.to_ns - query.range.from_ns;
  for (size_t tier = 0; tier < kTiers.size(); ++tier) {
    if (kTiers[tier] <= length / kRowsWanted) out.tier = tier;
  }
  out.range = query.range;
  if (!out.tier.has_value() && query.range.from_ns - 4 * length < query.job->raw_from_ns)
    out.tier = 0;
  if (out.tier.has_value()) {
    out.range = {FloorTo(query.range.from_ns, kTiers[*out.tier]),
                 NextAfter(query.range.to_ns - 1, kTiers[*out.tier])};
  }
  out.before_from_ns =
      std::max<int64_t>(0, out.range.from_ns - 4 * (out.range.to_ns - out.range.from_ns));
  return out;
}

// By labels.
StatusOr<std::vector<std::pair<Labels, Points>>> ReadPoints(const History& history,
                                                            const DifferenceQuery& query,
                                                            const Differences& frame) {
  SampleQuery read;
  read.job = query.job->id;
  read.range = {frame.before_from_ns, frame.range.to_ns};
  read.limits = query.limits;
  std::vector<std::pair<Labels, Points>> out;
  if (frame.tier.has_value()) {
    ASSIGN_OR_RETURN(std::vector<RollupColumn> columns, history.Rollups(read, *frame.tier));
    out.reserve(columns.size());
    for (RollupColumn& column : columns) {
      Collector points(frame, column.kind);
      for (const RollupRow& row : column.rows)
        points.Add(row.start_ns, row.sum / row.count, row.last);
      out.emplace_back(std::move(column.labels), points.Take());
    }
    return out;
  }
  std::map<Labels, Collector> series;
  const Status visited = history.VisitSamples(
      read, [&] { series.clear(); },
      [&](const std::vector<SampleColumn>& columns) {
        for (const SampleColumn& column : columns) {
          Collector& points = series.try_emplace(column.labels, frame, column.kind).first->second;
          for (size_t i = 0; i < column.times_ns.size(); ++i)
            points.Add(column.times_ns[i], column.values[i], column.values[i]);
        }
        return OkStatus();
      });
  RETURN_IF_ERROR(visited);
  for (auto& [labels, points] : series) out.emplace_back(labels, points.Take());
  return out;
}

// Median of the others, and their median deviation from it.
std::pair<double, double> PeersOf(const std::vector<double>& group, size_t self,
                                  const std::pair<double, double>& of_all) {
  if (group.size() > kManyPeers) return of_all;
  std::vector<double> others;
  others.reserve(group.size() - 1);
  for (size_t i = 0; i < group.size(); ++i) {
    if (i != self) others.push_back(group[i]);
  }
  const double median = MedianOf(others);
  return {median, MedianDeviation(others, median)};
}

// Labels but for those that say which of several like things it is.
struct PeerLabels {
  const Labels* labels;
  static bool TellsApart(std::string_view name) {
    return name == "cpu" || name == "gpu" || name == "node" || name == "rank";
  }
  friend bool operator==(const PeerLabels& a, const PeerLabels& b) {
    auto x = a.labels->begin(), y = b.labels->begin();
    for (;; ++x, ++y) {
      while (x != a.labels->end() && TellsApart(x->name)) ++x;
      while (y != b.labels->end() && TellsApart(y->name)) ++y;
      if (x == a.labels->end() || y == b.labels->end())
        return x == a.labels->end() && y == b.labels->end();
      if (*x != *y) return false;
    }
  }
  template <typename H>
  friend H AbslHashValue(H h, const PeerLabels& peer) {
    for (const Label& label : *peer.labels) {
      if (!TellsApart(label.name)) h = H::combine(std::move(h), label.name, label.value);
    }
    return h;
  }
};

// The least scale of each series.
std::vector<double> FloorsOf(const std::vector<Difference>& all,
                             const std::vector<SeriesKind>& kinds) {
  absl::flat_hash_map<std::string_view, double> flows;
  for (const Difference& one : all) {
    if (!IsFlow(one.labels.Name())) continue;
    double& most = flows[one.labels.Name()];
    most = std::max({most, one.mean, std::isnan(one.before) ? 0 : one.before});
  }
  std::vector<double> out;
  out.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string_view metric = all[i].labels.Name();
    const auto flow = flows.find(metric);
    out.push_back(IsShare(metric, kinds[i]) ? kLeastSpread
                  : flow == flows.end()     ? 0
                                            : kLeastSpread * flow->second);
  }
  return out;
}

void ComparePeers(const std::vector<double>& floors, std::vector<Difference>* all) {
  absl::flat_hash_map<PeerLabels, std::vector<size_t>> groups;
  for (size_t i = 0; i < all->size(); ++i) groups[{&(*all)[i].labels}].push_back(i);
  for (const auto& [key, members] : groups) {
    std::vector<double> means;
    means.reserve(members.size());
    for (const size_t member : members) means.push_back((*all)[member].mean);
    const double median = MedianOf(means);
    const std::pair<double, double> of_all = {median, MedianDeviation(means, median)};
    for (size_t i = 0; i < members.size(); ++i) {
      Difference& one = (*all)[members[i]];
      one.peer_count = members.size() - 1;
      if (one.peer_count == 0) continue;
      const auto peers = PeersOf(means, i, of_all);
      one.peers = peers.first;
      one.peers_effect =
          EffectOf(one.mean - one.peers, 1.4826 * peers.second, one.peers, floors[members[i]]);
    }
  }
}

}  // namespace

StatusOr<Differences> FindDifferences(const History& history, const DifferenceQuery& query) {
  Differences out = FrameOf(query);
  ASSIGN_OR_RETURN(auto series, ReadPoints(history, query, out));
  std::vector<Difference> all;
  std::vector<SeriesKind> kinds;
  std::vector<double> deviations;  // before
  all.reserve(series.size());
  for (auto& [labels, points] : series) {
    if (points.inside.empty()) continue;
    const MeanAndSpread before = MeanOf(points.before);
    Difference one = {std::move(labels),
                      NormalNan(),
                      MeanOf(points.inside).mean,
                      before.mean,
                      NormalNan(),
                      NormalNan(),
                      NormalNan(),
                      0};
    all.push_back(std::move(one));
    kinds.push_back(points.kind);
    deviations.push_back(before.deviation);
  }
  const std::vector<double> floors = FloorsOf(all, kinds);
  for (size_t i = 0; i < all.size(); ++i) {
    Difference& one = all[i];
    one.before_effect = EffectOf(one.mean - one.before, deviations[i], one.before, floors[i]);
  }
  ComparePeers(floors, &all);
  out.compared = all.size();
  for (Difference& one : all) {
    one.effect = Weight(one.before_effect) + Weight(one.peers_effect);
    const bool wanted = query.suspects.empty() ||
                        std::any_of(query.suspects.begin(), query.suspects.end(),
                                    [&](const Selector& s) { return s.Matches(one.labels); });
    if (wanted) out.differences.push_back(std::move(one));
  }
  std::stable_sort(out.differences.begin(), out.differences.end(),
                   [](const Difference& a, const Difference& b) { return a.effect > b.effect; });
  if (out.differences.size() > query.most) out.differences.resize(query.most);
  return out;
}

}  // namespace pitwall::insights
