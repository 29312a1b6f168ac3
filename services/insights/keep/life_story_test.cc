#include "services/insights/keep/life_story.h"

#include <gtest/gtest.h>

#include "services/insights/vector_history_for_test.h"

namespace pitwall::insights {
namespace {

IssueEvent EventOf(std::string rule, EventType type, std::string category, int64_t onset_ns) {
  IssueEvent event;
  event.type = type;
  event.job = "j";
  event.rule = std::move(rule);
  event.severity = "critical";
  event.labels = Labels({{"category", std::move(category)}});
  event.sequence = type == EventType::kIssueFound ? 1 : 2;
  event.active_since_ns = event.started_at_ns = AtSecond(1);
  event.time_ns = AtSecond(50);
  event.onset_ns = onset_ns;
  event.id = MakeEventId(event);
  return event;
}

int64_t StalledSince(const LifeStory& story) {
  JobLife life;
  story.Fill(&life);
  return life.stalled_since_ns;
}

TEST(LifeStory, AJobStandsStillSinceTheFirstOnsetOfItsOpenHangs) {
  LifeStory story;
  story.OnEvent(EventOf("a", EventType::kIssueFound, "memory", AtSecond(2)));
  EXPECT_EQ(StalledSince(story), 0) << "an onset of another kind";
  story.OnEvent(EventOf("b", EventType::kIssueFound, "hang", AtSecond(40)));
  story.OnEvent(EventOf("c", EventType::kIssueFound, "progress", AtSecond(39)));
  story.OnEvent(EventOf("d", EventType::kIssueFound, "hang", 0));
  EXPECT_EQ(StalledSince(story), AtSecond(39));
  story.OnEvent(EventOf("c", EventType::kIssueResolved, "progress", 0));
  EXPECT_EQ(StalledSince(story), AtSecond(40));
  story.OnEvent(EventOf("b", EventType::kIssueUpdated, "hang", AtSecond(45)));
  EXPECT_EQ(StalledSince(story), AtSecond(40)) << "its first event tells";
  story.OnEvent(EventOf("b", EventType::kIssueResolved, "hang", 0));
  EXPECT_EQ(StalledSince(story), 0);
}

}  // namespace
}  // namespace pitwall::insights
