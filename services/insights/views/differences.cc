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

// Mean and deviation of values as they come. Sums are those of distances from the first value, so
// that nothing cancels: that is no further from the mean than the deviation by the root of their
// count.
class Moments {
 public:
  void Add(double value) {
    if (count_ == 0) first_ = value;
    const double distance = value - first_;
    sum_ += distance;
    squares_ += distance * distance;
    count_ += 1;
  }
  bool empty() const { return count_ == 0; }
  // NaN: of nothing.
  double Mean() const { return empty() ? NormalNan() : first_ + sum_ / count_; }
  // Standard deviation of the population. NaN: of nothing.
  double Deviation() const {
    if (empty()) return NormalNan();
    return std::sqrt(std::max(0.0, squares_ - sum_ * sum_ / count_) / count_);
  }

 private:
  double count_ = 0;
  double first_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

// Points of a series: means of rows, or samples; of a counter the rates between neighbours.
struct Points {
  // In the order of time. `from_ns`: where the interval begins.
  void Add(int64_t from_ns, int64_t time_ns, double mean, double last) {
    if (!std::isfinite(last)) return;
    double value = mean;
    if (of.kind == SeriesKind::kCounter) {
      const bool first = last_ns < 0;
      const double seconds = static_cast<double>(time_ns - last_ns) / 1e9;
      value = (last >= last_value ? last - last_value : last) / seconds;
      last_ns = time_ns;
      last_value = last;
      if (first) return;
    }
    if (std::isfinite(value)) (time_ns < from_ns ? before : inside).Add(value);
  }

  SeriesDescriptor of{};
  int64_t last_ns = -1;
  double last_value = 0;
  Moments before{};
  Moments inside{};
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

// Of each series, in no order that counts: that in which they come, so that those of a metric are
// near each other.
StatusOr<std::vector<Points>> ReadPoints(const History& history, const DifferenceQuery& query,
                                         const Differences& frame) {
  SampleQuery read;
  read.job = query.job->id;
  read.range = {frame.before_from_ns, frame.range.to_ns};
  read.limits = query.limits;
  std::vector<Points> out;
  const int64_t from_ns = frame.range.from_ns;
  if (frame.tier.has_value()) {
    std::vector<uint32_t> places;  // by number of the series: 1 + index into `out`
    const auto points_of = [&](const RollupPart& part) -> Points& {
      if (part.series >= places.size()) places.resize(part.series + 1);
      uint32_t& place = places[part.series];
      if (place == 0) {
        out.push_back({.of = *part.of});
        place = static_cast<uint32_t>(out.size());
      }
      return out[place - 1];
    };
    const Status visited = history.VisitRollups(
        read, *frame.tier,
        [&] {
          out.clear();
          places.clear();
        },
        [&](std::span<const RollupPart> parts) {
          for (const RollupPart& part : parts) {
            Points& points = points_of(part);
            for (const RollupRow& row : part.rows)
              points.Add(from_ns, row.start_ns, row.sum / row.count, row.last);
          }
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
          if (added) out.push_back({.of = {column.labels, column.kind}});
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

// Series that differ in these labels alone.
struct Group {
  std::string_view metric;
  std::vector<uint32_t> members;
};

std::vector<Group> GroupsOf(const std::vector<Points>& series) {
  std::vector<Group> out;
  absl::flat_hash_map<PeerLabels, size_t> known;
  for (uint32_t i = 0; i < series.size(); ++i) {
    const Points& points = series[i];
    if (points.inside.empty()) continue;
    const auto [at, added] = known.try_emplace(PeerLabels{&points.of.labels}, out.size());
    if (added) out.push_back({points.of.labels.Name(), {}});
    out[at->second].members.push_back(i);
  }
  return out;
}

// The least scale of each flow.
absl::flat_hash_map<std::string_view, double> FlowsOf(const std::vector<Points>& series,
                                                      const std::vector<Group>& groups) {
  absl::flat_hash_map<std::string_view, double> out;
  for (const Group& group : groups) {
    if (!IsFlow(group.metric)) continue;
    double& least = out[group.metric];
    for (const uint32_t member : group.members) {
      const double before = series[member].before.Mean();
      least = std::max({least, kLeastSpread * series[member].inside.Mean(),
                        std::isnan(before) ? 0 : kLeastSpread * before});
    }
  }
  return out;
}

// The greatest differences so far, at most so many.
class Greatest {
 public:
  explicit Greatest(size_t most) : most_(most) {}
  // `difference`: without its labels, which are copied only if it is one of them.
  void Add(const Labels& labels, const Difference& difference) {
    if (heap_.size() == most_) {
      const Difference& last = heap_.front();
      if (difference.effect < last.effect ||
          (difference.effect == last.effect && last.labels < labels))
        return;
      std::pop_heap(heap_.begin(), heap_.end(), Before);
      heap_.pop_back();
    }
    heap_.push_back(difference);
    heap_.back().labels = labels;
    std::push_heap(heap_.begin(), heap_.end(), Before);
  }
  std::vector<Difference> Take() {
    std::sort_heap(heap_.begin(), heap_.end(), Before);
    return std::move(heap_);
  }

 private:
  static bool Before(const Difference& a, const Difference& b) {
    return a.effect != b.effect ? a.effect > b.effect : a.labels < b.labels;
  }

  const size_t most_;
  std::vector<Difference> heap_;  // the last one in front
};

// Calls with each member's difference, but for its labels. `floor`: of a flow.
template <typename Take>
void Compare(const std::vector<Points>& series, const Group& group, double floor, Take take) {
  std::vector<double> means;
  means.reserve(group.members.size());
  for (const uint32_t member : group.members) means.push_back(series[member].inside.Mean());
  std::vector<std::pair<double, double>> peers;
  if (means.size() > 1) peers = PeersOf(means);
  for (size_t i = 0; i < means.size(); ++i) {
    const Points& points = series[group.members[i]];
    const double least = IsShare(group.metric, points.of.kind) ? kLeastSpread : floor;
    Difference one;
    one.mean = means[i];
    one.before = points.before.Mean();
    one.before_effect =
        EffectOf(one.mean - one.before, points.before.Deviation(), one.before, least);
    one.peers = one.peers_effect = NormalNan();
    one.peer_count = means.size() - 1;
    if (!peers.empty()) {
      one.peers = peers[i].first;
      one.peers_effect = EffectOf(one.mean - one.peers, 1.4826 * peers[i].second, one.peers, least);
    }
    one.effect = Weight(one.before_effect) + Weight(one.peers_effect);
    take(points.of.labels, one);
  }
}

// Without selectors all are wanted; those that name another metric want none of the group.
std::vector<const Selector*> SuspectsOf(const Group& group,
                                        const std::vector<Selector>& selectors) {
  std::vector<const Selector*> out;
  for (const Selector& selector : selectors) {
    const std::string_view name = selector.MetricName();
    if (name.empty() || name == group.metric) out.push_back(&selector);
  }
  return out;
}

}  // namespace

StatusOr<Differences> FindDifferences(const History& history, const DifferenceQuery& query) {
  Differences out = FrameOf(query);
  ASSIGN_OR_RETURN(const std::vector<Points> series, ReadPoints(history, query, out));
  const std::vector<Group> groups = GroupsOf(series);
  const absl::flat_hash_map<std::string_view, double> flows = FlowsOf(series, groups);
  Greatest greatest(query.most);
  for (const Group& group : groups) {
    out.compared += group.members.size();
    const std::vector<const Selector*> suspects = SuspectsOf(group, query.suspects);
    if (suspects.empty() && !query.suspects.empty()) continue;
    const auto flow = flows.find(group.metric);
    Compare(series, group, flow == flows.end() ? 0 : flow->second,
            [&](const Labels& labels, const Difference& one) {
              const bool wanted = suspects.empty() || std::any_of(suspects.begin(), suspects.end(),
                                                                  [&](const Selector* s) {
                                                                    return s->Matches(labels);
                                                                  });
              if (wanted) greatest.Add(labels, one);
            });
  }
  out.differences = greatest.Take();
  return out;
}

}  // namespace pitwall::insights
