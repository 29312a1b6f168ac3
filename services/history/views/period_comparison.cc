#include "services/history/views/period_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/history/views/steps/statistics.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr double kMaxEffect = 1000;
constexpr double kMinSpread = 0.01;  // fraction of the mean level
constexpr int64_t kRowsWanted = 5;   // per interval; 10 minutes have five stored rows
// In groups larger than this, the median of all members replaces the median of the other members.
constexpr size_t kManyPeers = 256;

// Returns the effect of a difference. `floor` is the minimum scale, in the series' unit.
double EffectOf(double difference, double spread, double level, double floor) {
  if (std::isnan(difference) || std::isnan(level)) return NormalNan();
  if (difference == 0) return 0;
  const double scale = std::max({spread, kMinSpread * std::fabs(level), floor});
  return std::min(std::fabs(difference) / scale, kMaxEffect);  // a scale of 0 gives the maximum
}

// Returns whether the values are shares of a whole, and therefore at most 1. The smallest relevant
// difference between shares is 0.01.
bool IsShare(std::string_view metric, SeriesKind kind) {
  return EndsWith(metric, "_utilization_ratio") || metric == "train_phase_state" ||
         (kind == SeriesKind::kCounter && EndsWith(metric, "_seconds_total"));
}

// Returns whether the metric is a flow that is split by device and direction. The smallest relevant
// difference between flows is 1% of the largest flow.
bool IsFlow(std::string_view metric) {
  return EndsWith(metric, "_io_bytes_total") || EndsWith(metric, "_operations_total") ||
         EndsWith(metric, "_packets_total");
}

double Weight(double effect) { return std::isnan(effect) ? 0 : std::log2(1 + effect); }

// Streaming mean and deviation. To avoid cancellation, the sums use distances from the first value.
// The first value's distance from the mean is at most the deviation times the square root of the
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
  // Returns the mean, or NaN if there are no values.
  double Mean() const { return empty() ? NormalNan() : first_ + sum_ / count_; }
  // Returns the population standard deviation, or NaN if there are no values.
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

// Points of a series. A point is a sample or the mean of a row or, for a counter, the rate between
// adjacent values.
struct Points {
  // Adds a point. Points must be added in time order. `from_ns` is the start of the interval.
  void Add(int64_t from_ns, int64_t time_ns, double mean, double last) {
    if (!std::isfinite(last)) return;
    double value = mean;
    if (kind == SeriesKind::kCounter) {
      const bool first = last_ns < 0;
      const double seconds = static_cast<double>(time_ns - last_ns) / 1e9;
      value = (last >= last_value ? last - last_value : last) / seconds;
      last_ns = time_ns;
      last_value = last;
      if (first) return;
    }
    if (std::isfinite(value)) (time_ns < from_ns ? before : inside).Add(value);
  }

  uint32_t series = 0;
  SeriesKind kind = SeriesKind::kGauge;
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

struct AllPoints {
  SeriesTablePtr table;
  // Points by series, in arrival order. The series of one metric are adjacent.
  std::vector<Points> points;
};

StatusOr<AllPoints> ReadRollups(const History& history, const SeriesQuery& read, size_t tier,
                                int64_t from_ns) {
  AllPoints out;
  std::vector<uint32_t> places;  // by series number: one plus the index into the points; 0 if none
  const auto points_of = [&](const RollupPart& part) -> Points& {
    if (part.series >= places.size()) places.resize(part.series + 1);
    uint32_t& place = places[part.series];
    if (place == 0) {
      if (out.points.empty()) out.points.reserve(places.capacity());
      out.points.push_back({part.series, part.of->kind});
      place = static_cast<uint32_t>(out.points.size());
    }
    return out.points[place - 1];
  };
  ASSIGN_OR_RETURN(out.table, history.VisitRollups(
                                  read, tier,
                                  [&] {
                                    out.points.clear();
                                    places.clear();
                                  },
                                  [&](std::span<const RollupPart> parts) {
                                    for (const RollupPart& part : parts) {
                                      Points& points = points_of(part);
                                      for (size_t i = 0; i < part.rows.size(); ++i) {
                                        const RollupRow row = part.rows[i];
                                        points.Add(from_ns, row.start_ns, row.sum / row.count,
                                                   row.last);
                                      }
                                    }
                                    return OkStatus();
                                  }));
  return out;
}

StatusOr<AllPoints> ReadSamples(const History& history, const SampleQuery& read, int64_t from_ns) {
  AllPoints out;
  std::vector<SeriesDescriptor> series;
  absl::flat_hash_map<Labels, size_t> known;
  RETURN_IF_ERROR(history.VisitSamples(
      read,
      [&] {
        known.clear();
        series.clear();
        out.points.clear();
      },
      [&](const std::vector<SampleColumn>& columns) {
        for (const SampleColumn& column : columns) {
          const auto [at, added] = known.try_emplace(column.labels, series.size());
          if (added) {
            out.points.push_back({static_cast<uint32_t>(series.size()), column.kind});
            series.push_back({column.labels, column.kind});
          }
          Points& points = out.points[at->second];
          for (size_t i = 0; i < column.times.size(); ++i)
            points.Add(from_ns, column.times[i], column.values[i], column.values[i]);
        }
        return OkStatus();
      }));
  out.table = MakeSeriesTable(std::move(series));
  return out;
}

// Returns the median of all values except the one at index `place`. `sorted` must have at least two
// values.
double MedianWithout(const std::vector<double>& sorted, size_t place) {
  const auto other = [&](size_t i) { return sorted[i < place ? i : i + 1]; };
  const size_t count = sorted.size() - 1;
  return count % 2 == 1 ? other(count / 2) : (other(count / 2 - 1) + other(count / 2)) / 2;
}

// For each member, returns the median of the other members and their median deviation from that
// median. Requires at least two members. Leaving out one member yields at most three different
// medians, so the distances are sorted at most three times.
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
  std::optional<double> known;  // median from which the distances were computed
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

// Peers that have points in the interval.
struct Group {
  std::string_view metric{};
  std::vector<const Points*> members{};
};

std::vector<Group> GroupsOf(const AllPoints& all) {
  std::vector<Group> out(all.table->group_count);
  for (const Points& points : all.points) {
    if (points.inside.empty()) continue;
    Group& group = out[all.table->groups[points.series]];
    if (group.members.empty()) group.metric = all.table->series[points.series].labels.Name();
    group.members.push_back(&points);
  }
  return out;
}

// Returns the minimum scale for each flow.
absl::flat_hash_map<std::string_view, double> FlowsOf(const std::vector<Group>& groups) {
  absl::flat_hash_map<std::string_view, double> out;
  for (const Group& group : groups) {
    if (!IsFlow(group.metric)) continue;
    double& least = out[group.metric];
    for (const Points* points : group.members) {
      const double before = points->before.Mean();
      least = std::max({least, kMinSpread * points->inside.Mean(),
                        std::isnan(before) ? 0 : kMinSpread * before});
    }
  }
  return out;
}

// Largest differences so far, up to a limit.
class Greatest {
 public:
  explicit Greatest(size_t most) : most_(most) {}
  // `difference` has no labels. The labels are copied only if the difference is kept.
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
  std::vector<Difference> heap_;  // smallest difference at the front
};

// Visits each member's difference, without labels. `floor` is the minimum scale of the group's
// flow.
template <typename Take>
void Compare(const Group& group, double floor, Take take) {
  std::vector<double> means;
  means.reserve(group.members.size());
  for (const Points* points : group.members) means.push_back(points->inside.Mean());
  std::vector<std::pair<double, double>> peers;
  if (means.size() > 1) peers = PeersOf(means);
  for (size_t i = 0; i < means.size(); ++i) {
    const Points& points = *group.members[i];
    const double least = IsShare(group.metric, points.kind) ? kMinSpread : floor;
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
    take(points.series, one);
  }
}

// Returns the selectors that may match series in the group. Selectors for a different metric are
// excluded. If the query has no selectors, all series are ranked.
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
  SampleQuery read;
  read.job = query.job->id;
  read.range = {out.before_from_ns, out.range.to_ns};
  read.limits = query.limits;
  ASSIGN_OR_RETURN(const AllPoints all,
                   out.tier.has_value() ? ReadRollups(history, read, *out.tier, out.range.from_ns)
                                        : ReadSamples(history, read, out.range.from_ns));
  const std::vector<Group> groups = GroupsOf(all);
  const absl::flat_hash_map<std::string_view, double> flows = FlowsOf(groups);
  Greatest greatest(query.most);
  for (const Group& group : groups) {
    out.compared += group.members.size();
    const std::vector<const Selector*> suspects = SuspectsOf(group, query.suspects);
    if (suspects.empty() && !query.suspects.empty()) continue;
    const auto flow = flows.find(group.metric);
    Compare(
        group, flow == flows.end() ? 0 : flow->second, [&](uint32_t series, const Difference& one) {
          const Labels& labels = all.table->series[series].labels;
          const bool wanted = suspects.empty() ||
                              std::any_of(suspects.begin(), suspects.end(),
                                          [&](const Selector* s) { return s->Matches(labels); });
          if (wanted) greatest.Add(labels, one);
        });
  }
  out.differences = greatest.Take();
  return out;
}

}  // namespace pitwall::history
