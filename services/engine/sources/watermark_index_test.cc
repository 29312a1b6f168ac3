#include "services/engine/sources/watermark_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

namespace pitwall::engine {
namespace {

// Computes the expected results by scanning all sources.
struct Walk {
  const std::vector<std::unique_ptr<Source>>& sources;

  EventTime LeastPromise() const {
    EventTime least = EventTime::Latest();
    for (const auto& source : sources) {
      if (source->live) least = std::min(least, source->EffectivePromise());
    }
    return least == EventTime::Latest() ? EventTime::Earliest() : least;
  }
  EventTime NewestPromise() const {
    EventTime newest = EventTime::Earliest();
    for (const auto& source : sources) {
      if (source->live) newest = std::max(newest, source->promise);
    }
    return newest;
  }
  Step LeastStepPromise(const std::string& mode, uint32_t clock) const {
    Step least = WatermarkIndex::kNoPromise;
    for (Source* source : OnClock(mode, clock))
      least = std::min(least, source->steps[mode].promise);
    return least;
  }
  Step GreatestStepPromise(const std::string& mode, uint32_t clock) const {
    Step greatest = Step::None();
    for (Source* source : OnClock(mode, clock))
      greatest = std::max(greatest, source->steps[mode].promise);
    return greatest;
  }
  std::set<Source*> Slowest(const std::string& mode, uint32_t clock) const {
    std::set<Source*> slowest;
    for (Source* source : OnClock(mode, clock)) {
      if (source->steps[mode].promise == LeastStepPromise(mode, clock)) slowest.insert(source);
    }
    return slowest;
  }
  std::vector<Source*> OnClock(const std::string& mode, uint32_t clock) const {
    std::vector<Source*> on;
    for (const auto& source : sources) {
      const auto it = source->steps.find(mode);
      if (source->step_live && it != source->steps.end() && it->second.announced &&
          it->second.clock == clock)
        on.push_back(source.get());
    }
    return on;
  }
  std::set<Source*> WithRowsUpTo(EventTime to) const {
    std::set<Source*> due;
    for (const auto& source : sources) {
      for (const PendingFrame& frame : source->pending) {
        if (frame.next < frame.times.size() && frame.times[frame.next] <= to)
          due.insert(source.get());
      }
    }
    return due;
  }
};

TEST(WatermarkIndex, MatchesFullScan) {
  std::mt19937_64 random(7);
  SCOPED_TRACE("seed 7");
  WatermarkIndex order;
  std::vector<std::unique_ptr<Source>> sources;
  const Walk walk{sources};
  for (int round = 0; round < 20000; ++round) {
    if (sources.size() < 40 && random() % 4 == 0) {
      sources.push_back(std::make_unique<Source>());
      sources.back()->promise = EventTime::FromNs(static_cast<int64_t>(random() % 100));
    }
    if (sources.empty()) continue;
    const size_t chosen = random() % sources.size();
    Source* source = sources[chosen].get();
    const auto number = static_cast<int64_t>(random() % 100);
    const std::string mode = random() % 2 == 0 ? "train" : "eval";
    PendingFrame frame;
    const EventTime time = EventTime::FromNs(number);
    frame.times = {time, time + Duration::Nanos(3)};
    switch (random() % 10) {
      case 0:
        source->live = random() % 3 != 0;
        break;
      case 1:
        source->promise = time;
        break;
      case 2:
        source->pending.push_back(frame);
        break;
      case 3:
        if (!source->pending.empty() && ++source->pending.front().next == 2)
          source->pending.pop_front();
        break;
      case 4:
        source->waiting.push_back(frame);
        break;
      case 5:
        source->waiting.clear();
        break;
      case 6:
        source->step_live = random() % 3 != 0;
        break;
      case 7:
        source->steps[mode].announced = random() % 5 != 0;
        source->steps[mode].promise = random() % 5 == 0 ? Step::None() : Step(number);
        break;
      case 8:
        source->steps[mode].clock = random() % 3 == 0 ? kNoClock : random() % 3;
        break;
      default:
        if (random() % 4 != 0) break;
        order.Remove(source);
        sources.erase(sources.begin() + static_cast<int64_t>(chosen));
        source = nullptr;
    }
    if (source != nullptr) {
      order.Update(source);
      order.UpdateSteps(source);
    }
    if (random() % 2000 == 0) {
      order.Clear();
      sources.clear();
    }
    ASSERT_EQ(order.LeastPromise(), walk.LeastPromise());
    ASSERT_EQ(order.NewestPromise(), walk.NewestPromise());
    for (const std::string name : {"train", "eval"}) {
      for (uint32_t clock = 0; clock < 3; ++clock) {
        ASSERT_EQ(order.LeastStepPromise(name, clock), walk.LeastStepPromise(name, clock));
        ASSERT_EQ(order.GreatestStepPromise(name, clock), walk.GreatestStepPromise(name, clock));
        const std::vector<Source*> slowest = order.Slowest(name, clock);
        ASSERT_EQ(std::set<Source*>(slowest.begin(), slowest.end()), walk.Slowest(name, clock));
        ASSERT_EQ(order.AnySlowest(name, clock) == nullptr, slowest.empty());
      }
    }
    const std::vector<Source*> due = order.WithRowsUpTo(EventTime::FromNs(50));
    ASSERT_EQ(std::set<Source*>(due.begin(), due.end()), walk.WithRowsUpTo(EventTime::FromNs(50)));
    ASSERT_EQ(due.size(), walk.WithRowsUpTo(EventTime::FromNs(50)).size());
  }
}

}  // namespace
}  // namespace pitwall::engine
