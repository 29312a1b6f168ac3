#include "services/codec/imports/traces/device_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::imports {

namespace {

// Maximum number of earlier steps searched for one that overlaps a given time.
constexpr size_t kMaxOverlappingSteps = 16;

// Intervals of work by kind. Sorted and disjoint after Merge.
struct ByKind {
  std::vector<Interval> computation, communication, copies;

  void Add(const DeviceWork& work) {
    (work.kind == DeviceWorkKind::kComputation     ? computation
     : work.kind == DeviceWorkKind::kCommunication ? communication
                                                   : copies)
        .push_back(work.interval);
  }
  void MergeAll() {
    computation = Merge(std::move(computation));
    communication = Merge(std::move(communication));
    copies = Merge(std::move(copies));
  }
};

std::vector<Interval> Busy(const std::vector<DeviceWork>& works) {
  std::vector<Interval> busy;
  busy.reserve(works.size());
  for (const DeviceWork& work : works) busy.push_back(work.interval);
  return Merge(std::move(busy));
}

// `computation` contains the merged computation intervals of all steps.
DeviceShares SharesOf(const ByKind& own, const std::vector<Interval>& computation) {
  DeviceShares shares;
  shares.computation_ns = Length(own.computation);
  shares.communication_ns = Length(own.communication);
  shares.copy_ns = Length(own.copies);
  if (!own.communication.empty()) {
    const auto beside =
        Within(computation, own.communication.front().start_ns, own.communication.back().end_ns);
    shares.exposed_ns = shares.communication_ns - Overlap(own.communication, beside);
  }
  return shares;
}

// Returns the time until which work without a launch record belongs to the step. `next` may be
// null.
int64_t ReachOf(const TracedStep& step, const TracedStep* next) {
  if (next == nullptr || next->start_ns <= step.end_ns) return step.end_ns;
  const bool near = next->start_ns - step.end_ns <= (step.end_ns - step.start_ns) / 4;
  return near ? next->start_ns : step.end_ns;
}

std::string Percent(int64_t part, int64_t whole) {
  const double percent =
      whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
  return Cat(FormatDouble(std::round(percent * 10) / 10), " %");
}

}  // namespace

void AddShares(const std::vector<DeviceWork>& works, const std::vector<TracedStep>& steps,
               RankTrace* trace) {
  if (works.empty()) return;
  const std::vector<DeviceShares> shares = SharesOfSteps(works, steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto add = [&](std::string_view metric, int64_t ns) {
      steps::LoggedValue value;
      value.metric = metric;
      value.value = static_cast<double>(ns) / 1e9;
      value.time_ns = steps[i].end_ns;
      value.step = steps[i].step;
      value.mode = steps[i].mode;
      trace->AddValue(std::move(value));
    };
    add("train_communication_seconds", shares[i].communication_ns);
    add("train_computation_seconds", shares[i].computation_ns);
    add("train_exposed_communication_seconds", shares[i].exposed_ns);
    add("train_device_copy_seconds", shares[i].copy_ns);
    if (shares[i].idle_ns) add("train_device_idle_seconds", *shares[i].idle_ns);
  }
}

std::string Describe(const std::vector<DeviceWork>& works) {
  const std::vector<Interval> busy = Busy(works);
  if (busy.empty()) return "no device was active";
  const DeviceShares all = SharesOfAll(works);
  const int64_t whole = busy.back().end_ns - busy.front().start_ns;
  return Cat("of ", FormatDouble(static_cast<double>(whole) / 1e9), " s the device computed ",
             Percent(all.computation_ns, whole), ", communicated ",
             Percent(all.communication_ns, whole), " (", Percent(all.exposed_ns, whole),
             " with nothing computed meanwhile), copied ", Percent(all.copy_ns, whole),
             " and was idle ", Percent(all.idle_ns.value_or(0), whole));
}

int64_t StepOf(const DeviceWork& work, const std::vector<TracedStep>& steps) {
  const bool launched = work.launched_ns != DeviceWork::kUnknown;
  const int64_t at = launched ? work.launched_ns : work.interval.start_ns;
  auto it = std::partition_point(steps.begin(), steps.end(),
                                 [&](const TracedStep& step) { return step.start_ns <= at; });
  if (it == steps.begin()) return -1;
  if (!launched) {
    const TracedStep& step = *std::prev(it);
    return at < ReachOf(step, it == steps.end() ? nullptr : &*it) ? it - steps.begin() - 1 : -1;
  }
  for (size_t n = 0; n < kMaxOverlappingSteps && it != steps.begin(); ++n) {
    --it;
    if (at < it->end_ns) return it - steps.begin();
  }
  return -1;
}

void PlaceOnDevice(const std::vector<DeviceWork>& works, std::vector<TracedStep>* steps) {
  // Intervals from launch to end, for work with a known launch. Copies are excluded because they
  // may overlap many steps.
  std::vector<Interval> launched;
  std::vector<int64_t> own_end_ns(steps->size(), std::numeric_limits<int64_t>::min());
  for (const DeviceWork& work : works) {
    if (work.launched_ns == DeviceWork::kUnknown || work.kind == DeviceWorkKind::kCopy) continue;
    launched.push_back({work.launched_ns, work.interval.end_ns});
    const int64_t step = StepOf(work, *steps);
    if (step < 0) continue;
    int64_t& end_ns = own_end_ns[static_cast<size_t>(step)];
    end_ns = std::max(end_ns, work.interval.end_ns);
  }
  std::sort(launched.begin(), launched.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  auto earlier = launched.begin();
  int64_t earlier_end_ns = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < steps->size(); ++i) {
    TracedStep& step = (*steps)[i];
    for (; earlier != launched.end() && earlier->start_ns < step.start_ns; ++earlier)
      earlier_end_ns = std::max(earlier_end_ns, earlier->end_ns);
    const Interval timed{std::max(step.start_ns, earlier_end_ns),
                         std::max(step.end_ns, own_end_ns[i])};
    if (timed.start_ns < timed.end_ns) step.on_device = timed;
  }
}

std::vector<DeviceShares> SharesOfSteps(const std::vector<DeviceWork>& works,
                                        const std::vector<TracedStep>& steps) {
  std::vector<ByKind> own(steps.size());
  // First start and last end of each step's work.
  std::vector<std::optional<Interval>> reach(steps.size());
  std::vector<Interval> computation;
  for (const DeviceWork& work : works) {
    if (work.kind == DeviceWorkKind::kComputation) computation.push_back(work.interval);
    const int64_t step = StepOf(work, steps);
    if (step < 0) continue;
    own[static_cast<size_t>(step)].Add(work);
    auto& of = reach[static_cast<size_t>(step)];
    if (!of) of = work.interval;
    of->start_ns = std::min(of->start_ns, work.interval.start_ns);
    of->end_ns = std::max(of->end_ns, work.interval.end_ns);
  }
  computation = Merge(std::move(computation));
  const std::vector<Interval> busy = Busy(works);
  std::vector<DeviceShares> shares(steps.size());
  std::optional<int64_t> next_ns;  // first work of the following step
  for (size_t i = steps.size(); i-- > 0;) {
    own[i].MergeAll();
    shares[i] = SharesOf(own[i], computation);
    if (!reach[i]) continue;
    const int64_t end_ns = std::max(next_ns.value_or(reach[i]->end_ns), reach[i]->start_ns);
    shares[i].idle_ns =
        end_ns - reach[i]->start_ns - Length(Within(busy, reach[i]->start_ns, end_ns));
    next_ns = reach[i]->start_ns;
    own[i] = ByKind();
  }
  return shares;
}

DeviceShares SharesOfAll(const std::vector<DeviceWork>& works) {
  ByKind all;
  for (const DeviceWork& work : works) all.Add(work);
  all.MergeAll();
  DeviceShares shares = SharesOf(all, all.computation);
  const std::vector<Interval> busy = Busy(works);
  if (!busy.empty()) shares.idle_ns = busy.back().end_ns - busy.front().start_ns - Length(busy);
  return shares;
}

}  // namespace pitwall::imports
