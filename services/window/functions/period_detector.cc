#include "services/window/functions/period_detector.h"

#include <algorithm>
#include <cmath>

namespace pitwall::window {
namespace {

constexpr size_t kMostEvents = 100;
constexpr double kShareOnGrid = 0.8;
constexpr double kShareOfGrid = 0.7;
constexpr double kChance = 0.001;
constexpr size_t kMostCandidates = 8;
constexpr size_t kMostStarts = 4;  // more than one start, because the first events may be unrelated
constexpr double kLong = 8;  // in samples; with longer periods, an event may be off by one sample

struct Grid {
  double period = 0;
  double phase = 0;
  double on = 0;      // number of events on the grid
  double points = 0;  // number of grid points from the first to the last event
  double hit = 0;     // number of grid points with an event
};

// Returns the most frequent distances, in samples, between adjacent events and between every second
// event. Among equally frequent distances, longer ones come last.
std::vector<double> Candidates(const Events& events) {
  std::vector<double> distances;
  for (size_t i = 0; i + 1 < events.at.size(); ++i) {
    distances.push_back(std::round((events.at[i + 1] - events.at[i]) / events.distance));
    if (i + 2 < events.at.size())
      distances.push_back(std::round((events.at[i + 2] - events.at[i]) / events.distance));
  }
  std::sort(distances.begin(), distances.end());
  struct Candidate {
    double samples;
    size_t count;
  };
  std::vector<Candidate> counted;
  for (const double samples : distances) {
    if (counted.empty() || counted.back().samples != samples) counted.push_back({samples, 0});
    ++counted.back().count;
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const Candidate& a, const Candidate& b) { return a.count > b.count; });
  std::vector<double> periods;
  for (const Candidate& candidate : counted) {
    if (candidate.samples >= 2) periods.push_back(candidate.samples * events.distance);
    if (periods.size() == kMostCandidates) break;
  }
  return periods;
}

double Tolerance(const Events& events, double period) {
  return period >= kLong * events.distance ? 1.25 * events.distance : 0.5 * events.distance;
}

// Follows a period from one event to the next and fits a line through the matching events by least
// squares.
bool Fit(const Events& events, double guess, size_t start, Grid* grid) {
  const double tolerance = Tolerance(events, guess);
  double count = 0, sum_k = 0, sum_t = 0, sum_kk = 0, sum_kt = 0;
  double k = 0, last = events.at[start];
  for (size_t i = start; i < events.at.size(); ++i) {
    const double t = events.at[i];
    const double turns = std::round((t - last) / guess);
    if (i > start && (turns < 1 || std::fabs(t - last - turns * guess) > tolerance)) continue;
    k += turns;
    last = t;
    ++count;
    sum_k += k;
    sum_t += t;
    sum_kk += k * k;
    sum_kt += k * t;
  }
  const double spread = count * sum_kk - sum_k * sum_k;
  if (!(spread > 0)) return false;
  grid->period = (count * sum_kt - sum_k * sum_t) / spread;
  grid->phase = (sum_t - grid->period * sum_k) / count;
  return grid->period >= 2 * events.distance * 0.99;
}

void Count(const Events& events, Grid* grid) {
  const double tolerance = Tolerance(events, grid->period);
  const auto point = [&](double t) { return std::round((t - grid->phase) / grid->period); };
  bool any = false;
  double last = 0;
  for (const double t : events.at) {
    const double k = point(t);
    if (std::fabs(t - grid->phase - k * grid->period) > tolerance) continue;
    ++grid->on;
    if (!any || k != last) ++grid->hit;
    any = true;
    last = k;
  }
  grid->points = point(events.at.back()) - point(events.at.front()) + 1;
}

// Returns P(Binomial(trials, q) >= least), summing the terms from `least` upward.
double Upper(double trials, double q, double least) {
  if (least <= 0) return 1;
  double term = 1;
  for (double i = 0; i < least; ++i) term *= q * (trials - i) / (least - i);
  for (double i = least; i < trials; ++i) term *= 1 - q;
  double sum = 0;
  for (double i = least; i <= trials; ++i) {
    sum += term;
    term *= (trials - i) / (i + 1) * q / (1 - q);
  }
  return sum;
}

bool BeatsChance(const Events& events, const Grid& grid) {
  const auto m = static_cast<double>(events.at.size());
  if (grid.on < kShareOnGrid * m || grid.hit < kShareOfGrid * grid.points) return false;
  const double samples = grid.period / events.distance;
  const double q = samples >= kLong ? 3 / samples : 1 / samples;
  return Upper(m - 2, q, grid.on - 2) * events.samples / 4 <= kChance;
}

// Rounds the period to a whole number of seconds or steps if it is close to one, because the fit is
// no more precise than the event times.
double Rounded(double period) {
  const double whole = std::round(period);
  return std::fabs(period - whole) <= std::min(0.1, 0.02 * period) ? whole : period;
}

}  // namespace

bool PeriodOf(const Events& events, double* period) {
  if (events.at.size() < kLeastEvents || !(events.distance > 0)) return false;
  Grid best;
  for (const double guess : Candidates(events)) {
    for (size_t start = 0; start < std::min(kMostStarts, events.at.size() - 1); ++start) {
      Grid grid;
      if (!Fit(events, guess, start, &grid)) continue;
      Count(events, &grid);
      if (grid.on > best.on && BeatsChance(events, grid)) best = grid;
    }
  }
  if (best.on == 0) return false;
  *period = Rounded(best.period);
  return true;
}

bool EventPeriod(std::span<const double> values, double resolution, double* period) {
  if (!(resolution > 0) || !std::isfinite(resolution)) return false;
  Events events;
  for (size_t i = values.size(); i-- > 0 && events.at.size() < kMostEvents;) {
    if (std::isfinite(values[i])) events.at.push_back(values[i]);
  }
  if (events.at.size() < kLeastEvents) return false;
  std::sort(events.at.begin(), events.at.end());
  const double first = events.at.front();
  for (double& at : events.at) at -= first;
  events.distance = resolution;
  events.samples = events.at.back() / resolution + 1;
  return PeriodOf(events, period);
}

}  // namespace pitwall::window
