#include "services/insights/views/differences.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
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
class Points {
 public:
  void Begin(const Labels& labels, SeriesKind kind, size_t expected) {
    labels_ = labels;
    kind_ = kind;
    values_.reserve(expected);
  }
  bool begun() const { return values_.capacity() > 0; }
  // In the order of time. `from_ns`: where the interval begins.
  void Add(int64_t from_ns, int64_t time_ns, double mean, double last) {
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
    before_ += time_ns < from_ns ? 1 : 0;
    values_.push_back(value);
  }

  const Labels& labels() const { return labels_; }
  SeriesKind kind() const { return kind_; }
  std::span<const double> before() const { return std::span(values_).first(before_); }
  std::span<const double> inside() const { return std::span(values_).subspan(before_); }

 private:
  Labels labels_;
  SeriesKind kind_ = SeriesKind::kGauge;
  int64_t last_ns_ = -1;
  double last_value_ = 0;
  std::vector<double> values_;
  size_t before_ = 0;  // of them
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

// Of each series, in no order that counts.
StatusOr<std::vector<Points>> ReadPoints(const History& history, const DifferenceQuery& query,
                                         const Differences& frame) {
  SampleQuery read;
  read.job = query.job->id;
  read.range = {frame.before_from_ns, frame.range.to_ns};
  read.limits = query.limits;
  std::vector<Points> out;
  const int64_t from_ns = frame.range.from_ns;
  if (frame.tier.has_value()) {
    const auto rows = static_cast<size_t>(
        std::min<int64_t>((read.range.to_ns - read.range.from_ns) / kTiers[*frame.tier], 512));
    const Status visited = history.VisitRollups(
        read, *frame.tier, [&] { out.clear(); },
        [&](const RollupPart& part) {
          if (part.series >= out.size()) out.resize(part.series + 1);
          Points& points = out[part.series];
          if (!points.begun()) points.Begin(part.labels, part.kind, 1 + rows);
          for (const RollupRow& row : part.rows)
            points.Add(from_ns, row.start_ns, row.sum / row.count, row.last);
          return OkStatus();
        });
    RETURN_IF_ERROR(visited);
    return out;
  }
  absl::flat_hash_map<Labels, size_t> known;
  const Status visited = history.VisitSamples(
      read,
      [&] {
        known.clear();
        out.clear();
      },
      [&](const std::vector<SampleColumn>& columns) {
        for (const SampleColumn& column : columns) {
          const auto [at, added] = known.try_emplace(column.labels, out.size());
          if (added) out.emplace_back().Begin(column.labels, column.kind, column.times_ns.size());
          Points& points = out[at->second];
          for (size_t i = 0; i < column.times_ns.size(); ++i)
            points.Add(from_ns, column.times_ns[i], column.values[i], column.values[i]);
        }
        return OkStatus();
      });
  RETURN_IF_ERROR(visited);
  return out;
}

// Median of all but the one at that place. `sorted`: at least two.
double MedianWithout(const std::vector<double>& sorted, size_t place) {
  const auto other = [&](size_t i) { return sorted[i < place ? i : i + 1]; };
  const size_t count = sorted.size() - 1;
  return count % 2 == 1 ? other(count / 2) : (other(count / 2 - 1) + other(count / 2)) / 2;
}

// For each member the median of the others, and their median deviation from it. At least two
// members. Medians without one take at most three values, each of which sorts the distances once.
std::vector<std::pair<double, double>> PeersOf(const std::vector<double>& group) {
  if (group.size() > kManyPeers) {
    const double median = MedianOf(group);
    return std::vector<std::pair<double, double>>(group.size(),
                                                  {median, MedianDeviation(group, median)});
  }
  std::vector<size_t> order(group.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return group[a] < group[b]; });
  std::vector<double> sorted;
  for (const size_t member : order) sorted.push_back(group[member]);
  std::vector<std::pair<double, double>> out(group.size());
  std::vector<double> distances;
  std::optional<double> known;  // the median of which these are the distances
  for (size_t place = 0; place < order.size(); ++place) {
    const double median = MedianWithout(sorted, place);
    if (known != median) {
      known = median;
      distances.clear();
      for (const double value : sorted) distances.push_back(std::fabs(value - median));
      std::sort(distances.begin(), distances.end());
    }
    const auto own =
        std::lower_bound(distances.begin(), distances.end(), std::fabs(sorted[place] - median));
    out[order[place]] = {median,
                         MedianWithout(distances, static_cast<size_t>(own - distances.begin()))};
  }
  return out;
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
    for (const size_t member : members) (*all)[member].peer_count = members.size() - 1;
    if (members.size() < 2) continue;
    const std::vector<std::pair<double, double>> peers = PeersOf(means);
    for (size_t i = 0; i < members.size(); ++i) {
      Difference& one = (*all)[members[i]];
      one.peers = peers[i].first;
      one.peers_effect =
          EffectOf(one.mean - one.peers, 1.4826 * peers[i].second, one.peers, floors[members[i]]);
    }
  }
}

}  // namespace

StatusOr<Differences> FindDifferences(const History& history, const DifferenceQuery& query) {
  Differences out = FrameOf(query);
  ASSIGN_OR_RETURN(const std::vector<Points> series, ReadPoints(history, query, out));
  std::vector<Difference> all;
  std::vector<SeriesKind> kinds;
  std::vector<double> deviations;  // before
  all.reserve(series.size());
  for (const Points& points : series) {
    if (points.inside().empty()) continue;
    const MeanAndSpread before = MeanOf(points.before());
    Difference one = {points.labels(),
                      NormalNan(),
                      MeanOf(points.inside()).mean,
                      before.mean,
                      NormalNan(),
                      NormalNan(),
                      NormalNan(),
                      0};
    all.push_back(std::move(one));
    kinds.push_back(points.kind());
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
  const auto middle = out.differences.begin() +
                      static_cast<ptrdiff_t>(std::min(query.most, out.differences.size()));
  std::partial_sort(out.differences.begin(), middle, out.differences.end(),
                    [](const Difference& a, const Difference& b) {
                      return a.effect != b.effect ? a.effect > b.effect : a.labels < b.labels;
                    });
  out.differences.erase(middle, out.differences.end());
  return out;
}

}  // namespace pitwall::insights
