#include "services/codec/steps/phase_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::steps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Change = PhaseChange;

TEST(PhaseTimeline, ConsecutiveSpansEmitOneChangeEach) {
  PhaseTimeline timeline;
  timeline.AddSpan(0, 10, 20);
  timeline.AddSpan(1, 20, 30);
  timeline.AddSpan(0, 35, 40);
  EXPECT_THAT(timeline.Take(0), ElementsAre(Change{10, 0}, Change{20, 1}, Change{30, kNoPhase},
                                            Change{35, 0}, Change{40, kNoPhase}));
  EXPECT_THAT(timeline.Take(50), IsEmpty());
}

TEST(PhaseTimeline, OuterPhaseResumesAfterInnerPhase) {
  PhaseTimeline timeline;
  timeline.AddSpan(1, 12, 15);  // the inner span ends first, so it is added first
  timeline.AddSpan(2, 10, 13);  // starts together with its outer span
  timeline.AddSpan(0, 10, 20);
  EXPECT_THAT(timeline.Take(0),
              ElementsAre(Change{10, 2}, Change{12, 1}, Change{15, 0}, Change{20, kNoPhase}));
}

TEST(PhaseTimeline, OpenPhaseIsEmittedOnceBeforeItsSpan) {
  PhaseTimeline timeline;
  timeline.SetCurrent(0, 10);
  EXPECT_THAT(timeline.Take(0), ElementsAre(Change{10, 0}));
  EXPECT_THAT(timeline.Take(20), IsEmpty());
  timeline.AddSpan(0, 10, 25);
  timeline.SetCurrent(1, 25);
  EXPECT_THAT(timeline.Take(20), ElementsAre(Change{25, 1}));
  timeline.SetCurrent(kNoPhase, 0);
  // The span of the open phase was lost.
  EXPECT_THAT(timeline.Take(30), ElementsAre(Change{31, kNoPhase}));
}

TEST(PhaseTimeline, ChangesBeforePromise_AreMovedAfterPromise) {
  PhaseTimeline timeline;
  timeline.AddSpan(0, 10, 12);
  timeline.SetCurrent(1, 14);
  EXPECT_THAT(timeline.Take(20), ElementsAre(Change{21, 1}));
}

TEST(PhaseTimeline, EmptySpansAndEqualNeighborsEmitNothing) {
  PhaseTimeline timeline;
  timeline.AddSpan(0, 10, 10);
  EXPECT_THAT(timeline.Take(0), IsEmpty());
  timeline.AddSpan(0, 10, 12);
  timeline.AddSpan(0, 12, 14);
  EXPECT_THAT(timeline.Take(0), ElementsAre(Change{10, 0}, Change{14, kNoPhase}));
}

}  // namespace
}  // namespace pitwall::steps
