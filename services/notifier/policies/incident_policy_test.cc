#include "services/notifier/policies/incident_policy.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "services/notifier/testing/notifier_fixture.h"

namespace pitwall::notifier {
namespace {

// Returns "found", "updated", or "ended".
std::string NoticeKind(const FeedItem& item) {
  const std::string body = EncodeNotice(*item.notice);
  const size_t at = body.find("io.pitwall.incident.") + 20;
  return body.substr(at, body.find('"', at) - at);
}

bool Names(const FeedItem& item, const std::string& issue) {
  const std::string body = EncodeNotice(*item.notice);
  return body.find(issue, body.find("\"issue_ids\"")) != std::string::npos;
}

std::string FieldOf(const FeedItem& item, std::string_view field) {
  const std::string body = EncodeNotice(*item.notice);
  const std::string key = Cat("\"", field, "\":");
  const size_t at = body.find(key, body.find("\"data\"")) + key.size();
  return body.substr(at, body.find_first_of(",}", at) - at);
}

class IncidentPolicyTest : public ::testing::Test {
 protected:
  IssueEvent Of(std::string_view rule, uint64_t sequence, int64_t at_s,
                EventType type = EventType::kIssueFound, std::string_view severity = "warning") {
    IssueEvent e = MakeEvent("job", rule, sequence, type, severity);
    e.time = EventTime::FromNs(at_s * kNanosPerSecond);
    e.incident = "incident-1";
    return e;
  }
  void Feed(IssueEvent event) {
    notices_.Feed({0, offset_++, std::make_shared<const IssueEvent>(std::move(event)), 0,
                   AppendTime(), nullptr},
                  &sent_);
  }
  std::vector<std::string> Sent() {
    notices_.Settle(0, &sent_);
    std::vector<std::string> out;
    for (const FeedItem& item : sent_) out.push_back(NoticeKind(item));
    return out;
  }

  DeliveryOptions options_{.name = "w"};
  IncidentPolicy notices_{options_, nullptr, 1000};
  int64_t offset_ = 0;
  std::vector<FeedItem> sent_;
};

using Kinds = std::vector<std::string>;

TEST_F(IncidentPolicyTest, IncidentWithTwentyFiveIssues_SendsTwoNotices) {
  std::vector<std::string> ids;
  for (int i = 0; i < 25; ++i) {
    const IssueEvent e = Of(Cat("r", i), 1, 1001);
    ids.push_back(e.id);
    Feed(e);
  }
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(notices_.UndecidedFrom(0), 0);
  EXPECT_EQ(Sent(), Kinds({"found"}));
  EXPECT_EQ(notices_.UndecidedFrom(0), INT64_MAX);
  for (const std::string& id : ids) EXPECT_TRUE(Names(sent_[0], id));
  EXPECT_EQ(FieldOf(sent_[0], "issue_count"), "25");
  EXPECT_EQ(FieldOf(sent_[0], "state"), "\"open\"");
  EXPECT_EQ(sent_[0].offset, 0);  // offset of the first event that the notice covers
  for (int i = 0; i < 25; ++i) Feed(Of(Cat("r", i), 2, 1002 + i, EventType::kIssueResolved));
  EXPECT_EQ(Sent(), Kinds({"found", "ended"}));
  EXPECT_EQ(FieldOf(sent_[1], "state"), "\"ended\"");
  for (const std::string& id : ids) EXPECT_TRUE(Names(sent_[1], id));
  EXPECT_NE(sent_[0].notice->id, sent_[1].notice->id);
  EXPECT_EQ(notices_.incidents(), 0u);
}

TEST_F(IncidentPolicyTest, UpdateIsDelayedUntilEndOfMinute) {
  Feed(Of("a", 1, 1001));
  EXPECT_EQ(Sent(), Kinds({"found"}));
  Feed(Of("b", 1, 1010));  // doubles the number of issues
  Feed(Of("c", 1, 1020));
  EXPECT_EQ(Sent(), Kinds({"found"}));
  Feed(Of("a", 2, 1060, EventType::kIssueUpdated));
  EXPECT_EQ(Sent(), Kinds({"found"}));
  // The first event at or after the due time triggers the update, regardless of which job it
  // belongs to.
  IssueEvent other = MakeEvent("other", "x", 2, EventType::kIssueUpdated);
  other.time = EventTime::FromNs(1061 * kNanosPerSecond);
  Feed(other);
  EXPECT_EQ(Sent(), Kinds({"found", "updated"}));
  EXPECT_EQ(FieldOf(sent_[1], "issue_count"), "3");
  // A fourth issue does not double the count of three, so no update is sent.
  Feed(Of("d", 1, 1200));
  Feed(Of("a", 3, 1300, EventType::kIssueUpdated));
  EXPECT_EQ(Sent(), Kinds({"found", "updated"}));
}

TEST_F(IncidentPolicyTest, CaptureTriggersOneUpdate) {
  IssueEvent hang = Of("hang", 1, 1001);
  hang.capture = "stacks";
  Feed(hang);
  EXPECT_EQ(Sent(), Kinds({"found"}));
  IssueEvent captured = Of("hang", 2, 1061, EventType::kIssueUpdated);
  captured.summary = "Rank 1 is missing; captured: 1 blocked 7 collective";
  Feed(captured);
  ASSERT_EQ(Sent(), Kinds({"found", "updated"}));
  EXPECT_THAT(EncodeNotice(*sent_[0].notice), ::testing::Not(::testing::HasSubstr("captured: ")));
  EXPECT_THAT(EncodeNotice(*sent_[1].notice), ::testing::HasSubstr("captured: 1 blocked"));
  for (uint64_t i = 3; i < 9; ++i)
    Feed(Of("hang", i, 1000 + 61 * static_cast<int64_t>(i), EventType::kIssueUpdated));
  EXPECT_EQ(Sent(), Kinds({"found", "updated"}));
  // The last notice was sent less than a minute ago, so the update is delayed.
  IssueEvent second = Of("second", 1, 1600);
  second.capture = "stacks";
  Feed(second);
  EXPECT_EQ(Sent(), Kinds({"found", "updated", "updated"})) << "twice as many";
  Feed(Of("second", 2, 1630, EventType::kIssueUpdated));
  EXPECT_EQ(Sent(), Kinds({"found", "updated", "updated"}));
  notices_.SendDue(0, 1660 * kNanosPerSecond, &sent_);
  EXPECT_EQ(Sent(), Kinds({"found", "updated", "updated", "updated"}));
}

TEST_F(IncidentPolicyTest, ClockSendsDelayedUpdateWithoutEvents) {
  EXPECT_EQ(notices_.DueNs(0), NotificationPolicy::kNever);
  Feed(Of("a", 1, 1001));
  Feed(Of("b", 1, 1010));  // doubles the number of issues
  EXPECT_EQ(Sent(), Kinds({"found"}));
  EXPECT_EQ(notices_.DueNs(0), 1061 * kNanosPerSecond);
  notices_.SendDue(0, 1061 * kNanosPerSecond - 1, &sent_);
  EXPECT_EQ(Sent(), Kinds({"found"}));
  notices_.SendDue(0, 1075 * kNanosPerSecond, &sent_);
  ASSERT_EQ(Sent(), Kinds({"found", "updated"}));
  EXPECT_EQ(FieldOf(sent_[1], "issue_count"), "2");
  EXPECT_EQ(notices_.DueNs(0), NotificationPolicy::kNever);
  // A later event triggers the same notice with the same ID, so receivers can deduplicate it after
  // a restart.
  IncidentPolicy other(options_, nullptr, 1000);
  std::vector<FeedItem> sent;
  int64_t offset = 0;
  for (IssueEvent event : {Of("a", 1, 1001), Of("b", 1, 1010), Of("a", 2, 1300)}) {
    if (event.sequence == 2) event.type = EventType::kIssueUpdated;
    other.Feed({0, offset++, std::make_shared<const IssueEvent>(event), 0, AppendTime(), nullptr},
               &sent);
  }
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].notice->id, sent_[1].notice->id);
  EXPECT_EQ(EncodeNotice(*sent[1].notice), EncodeNotice(*sent_[1].notice));
  EXPECT_EQ(sent[1].offset, 2) << "a restart reads it again";
}

TEST_F(IncidentPolicyTest, NodeIssue_FormsOneIncidentAcrossJobs) {
  const auto on_node = [&](std::string_view job, std::string_view node, uint64_t sequence,
                           int64_t at_s, EventType type) {
    IssueEvent e = MakeEvent(std::string(job), "CPUSaturated", sequence, type, "info");
    e.labels = Labels({{"alertname", "CPUSaturated"}, {"node", node}, {"scope", "node"}});
    e.id = MakeEventId(e);
    e.time = EventTime::FromNs(at_s * kNanosPerSecond);
    e.incident = IssueId(e);
    return e;
  };
  const IssueEvent first = on_node("job-1", "n1", 1, 1001, EventType::kIssueFound);
  const IssueEvent second = on_node("job-2", "n1", 1, 1002, EventType::kIssueFound);
  Feed(first);
  Feed(second);
  EXPECT_EQ(Sent(), Kinds({"found"}));
  EXPECT_NE(EncodeNotice(*sent_[0].notice).find("\"node\":\"n1\""), std::string::npos);
  // The node's incident also includes the issues that its node issues explain.
  IssueEvent symptom = MakeEvent("job-2", "StragglerRank", 1, EventType::kIssueFound);
  symptom.time = EventTime::FromNs(1070 * kNanosPerSecond);
  symptom.incident = second.incident;
  symptom.root_cause = IssueId(second);
  Feed(symptom);
  EXPECT_EQ(Sent(), Kinds({"found", "updated"}));
  EXPECT_NE(EncodeNotice(*sent_[1].notice).find("\"jobs\":[\"job-1\",\"job-2\"]"),
            std::string::npos)
      << EncodeNotice(*sent_[1].notice);
  // An issue on another node starts another incident.
  Feed(on_node("job-1", "n2", 1, 1080, EventType::kIssueFound));
  EXPECT_EQ(Sent().size(), 3u);
  EXPECT_EQ(notices_.incidents(), 2u);
  // The incident ends when its last issue ends.
  Feed(on_node("job-1", "n1", 2, 1100, EventType::kIssueResolved));
  symptom.sequence = 2;
  symptom.type = EventType::kIssueResolved;
  symptom.time = EventTime::FromNs(1101 * kNanosPerSecond);
  Feed(symptom);
  EXPECT_EQ(Sent().size(), 3u);
  Feed(on_node("job-2", "n1", 2, 1102, EventType::kIssueResolved));
  ASSERT_EQ(Sent().size(), 4u);
  EXPECT_EQ(NoticeKind(sent_[3]), "ended");
  EXPECT_EQ(FieldOf(sent_[3], "issue_count"), "3");
  EXPECT_EQ(FieldOf(sent_[3], "incident"), FieldOf(sent_[0], "incident"));
  EXPECT_EQ(notices_.incidents(), 1u);
}

TEST_F(IncidentPolicyTest, NamesTwoEquallyLikelyRootCauses) {
  IssueEvent a = Of("a", 1, 1001), b = Of("b", 1, 1001);
  a.alert = "DataStallShare";
  b.alert = "SlowCollective";
  Feed(a);
  Feed(b);
  EXPECT_EQ(Sent(), Kinds({"found"}));
  const std::string& body = EncodeNotice(*sent_[0].notice);
  const size_t at = body.find("\"summary\":");
  EXPECT_THAT(body.substr(at, body.find("\"issue_count\"") - at),
              testing::AllOf(testing::HasSubstr("DataStallShare"), testing::HasSubstr(" or "),
                             testing::HasSubstr("SlowCollective")));
}

TEST_F(IncidentPolicyTest, HigherSeverityAndNewRootCauseTriggerUpdates) {
  IssueEvent symptom = Of("a", 1, 1001);
  Feed(symptom);
  EXPECT_EQ(Sent(), Kinds({"found"}));
  EXPECT_EQ(FieldOf(sent_[0], "root_cause"), Cat("\"", symptom.id, "\""));
  const IssueEvent root = Of("b", 1, 1070, EventType::kIssueFound, "critical");
  Feed(root);
  EXPECT_EQ(Sent(), Kinds({"found", "updated"}));
  EXPECT_EQ(FieldOf(sent_[1], "severity"), "\"critical\"");
  EXPECT_EQ(FieldOf(sent_[1], "root_cause"), Cat("\"", root.id, "\""));
  EXPECT_EQ(FieldOf(sent_[1], "changed"), "\"root_cause\"");
}

TEST_F(IncidentPolicyTest, FiltersBySeverityAndType) {
  options_.severities = {"critical"};
  IncidentPolicy critical(options_, nullptr, 1000);
  std::vector<FeedItem> sent;
  const auto feed = [&](IssueEvent event) {
    critical.Feed({0, offset_++, std::make_shared<const IssueEvent>(std::move(event)), 0,
                   AppendTime(), nullptr},
                  &sent);
    critical.Settle(0, &sent);
  };
  feed(Of("a", 1, 1001));
  EXPECT_TRUE(sent.empty());
  feed(Of("b", 1, 1002, EventType::kIssueFound, "critical"));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(NoticeKind(sent[0]), "found");
  EXPECT_EQ(FieldOf(sent[0], "issue_count"), "2");  // the count includes all issues of the incident
  feed(Of("b", 2, 1003, EventType::kIssueResolved, "critical"));
  EXPECT_EQ(sent.size(), 1u);
  feed(Of("a", 2, 1004, EventType::kIssueResolved));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(NoticeKind(sent[1]), "ended");
}

TEST_F(IncidentPolicyTest, FirstEventIsUpdate_EndIsSent) {
  Feed(Of("a", 7, 1001, EventType::kIssueUpdated));
  EXPECT_EQ(Sent(), Kinds());
  Feed(Of("a", 8, 1002, EventType::kIssueResolved));
  EXPECT_EQ(Sent(), Kinds({"ended"}));
}

TEST_F(IncidentPolicyTest, ForwardsEventsThatHaveNoIssue) {
  IssueEvent status = MakeEvent("job", "r", 1, EventType::kRuleStatus);
  Feed(status);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].notice, nullptr);
}

TEST_F(IncidentPolicyTest, DropsOldIncidents) {
  IncidentPolicy few(options_, nullptr, 10);
  std::vector<FeedItem> sent;
  for (int i = 0; i < 100; ++i) {
    IssueEvent e = Of(Cat("r", i), 1, 1001 + i);
    e.incident = Cat("incident-", i);
    few.Feed({0, i, std::make_shared<const IssueEvent>(std::move(e)), 0, AppendTime(), nullptr},
             &sent);
    few.Settle(0, &sent);
    EXPECT_LE(few.incidents(), 10u);
  }
  EXPECT_EQ(sent.size(), 100u);
  // If an incident has too many issues, the policy sends a notice and then drops the ended issues.
  sent.clear();
  IncidentPolicy one(options_, nullptr, 1'000'000);
  const size_t count = 2 * IncidentPolicy::kMaxIssues + 100;
  std::set<std::string> ids;
  for (size_t i = 0; i < count; ++i) {
    for (const uint64_t sequence : {1, 2}) {
      if (sequence == 2 && i == 0) continue;
      const IssueEvent e = Of(Cat("r", i), sequence, 1001,
                              sequence == 1 ? EventType::kIssueFound : EventType::kIssueResolved);
      if (sequence == 1) ids.insert(e.id);
      one.Feed({0, 0, std::make_shared<const IssueEvent>(e), 0, AppendTime(), nullptr}, &sent);
      one.Settle(0, &sent);
    }
  }
  one.Feed({0, 0, std::make_shared<const IssueEvent>(Of("r0", 2, 1001, EventType::kIssueResolved)),
            0, AppendTime(), nullptr},
           &sent);
  one.Settle(0, &sent);
  EXPECT_LE(sent.size(), 5u);
  for (const std::string& id : ids) {
    EXPECT_TRUE(std::any_of(sent.begin(), sent.end(),
                            [&](const FeedItem& item) { return Names(item, id); }));
  }
}

// Property: with random events and restarts, each incident has exactly one found notice and one end
// notice, its updates are at least a minute apart, and each issue appears in a notice.
TEST_F(IncidentPolicyTest, RandomRestartsDoNotRepeatIncidents) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    struct Life {
      std::string rule, incident;
      int64_t from, to;
      std::string severity;
    };
    std::vector<IssueEvent> events;
    std::map<std::string, std::string> incident_of;  // incident ID by issue ID
    for (int n = 0; n < 4; ++n) {
      const int64_t begin = 1000 + static_cast<int64_t>(random() % 50), end = begin + 400;
      const size_t size = 1 + random() % 12;
      for (size_t i = 0; i < size; ++i) {
        // The first issue lasts for the entire incident.
        const int64_t from = i == 0 ? begin : begin + static_cast<int64_t>(random() % 300);
        const int64_t to = i == 0 ? end : from + 1 + static_cast<int64_t>(random() % 90);
        const std::string rule = Cat("r", n, "-", i);
        const char* severity = random() % 4 == 0 ? "critical" : "warning";
        uint64_t sequence = 0;
        for (int64_t at = from;; at = at == from && to > from + 60 ? from + 60 : to) {
          IssueEvent e = Of(rule, ++sequence, at,
                            at == from ? EventType::kIssueFound
                            : at == to ? EventType::kIssueResolved
                                       : EventType::kIssueUpdated,
                            severity);
          e.incident = Cat("incident-", n);
          incident_of[IssueId(e)] = e.incident;
          events.push_back(e);
          if (at == to) break;
        }
      }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const IssueEvent& a, const IssueEvent& b) { return a.time < b.time; });
    std::vector<FeedItem> all;
    const auto items = [&](size_t i) {
      return FeedItem{0,
                      static_cast<int64_t>(i),
                      std::make_shared<const IssueEvent>(events[i]),
                      0,
                      AppendTime(),
                      nullptr};
    };
    // Each simulated process resumes at the stored position and rereads the history before it.
    int64_t stored = 0;
    while (stored < static_cast<int64_t>(events.size())) {
      IncidentPolicy notices(options_, nullptr, 1000);
      std::vector<FeedItem> dropped, sent;
      for (int64_t i = 0; i < stored; ++i) notices.Feed(items(static_cast<size_t>(i)), &dropped);
      notices.Settle(0, &dropped);
      const size_t until = std::min(events.size(), static_cast<size_t>(stored) + 1 + random() % 40);
      for (size_t i = static_cast<size_t>(stored); i < until; ++i) {
        notices.Feed(items(i), &sent);
        if (random() % 7 == 0) notices.Settle(0, &sent);
      }
      if (until == events.size()) notices.Settle(0, &sent);
      int64_t position = std::min(static_cast<int64_t>(until), notices.UndecidedFrom(0));
      // Some of the most recent notices may not have been delivered.
      if (!sent.empty() && random() % 3 == 0 && until < events.size()) {
        position = std::min(position, sent.back().offset);
        const int64_t offset = sent.back().offset;
        while (!sent.empty() && sent.back().offset == offset) sent.pop_back();
      }
      all.insert(all.end(), sent.begin(), sent.end());
      if (position == stored && until < events.size()) continue;  // this process made no progress
      stored = position;
    }
    std::map<std::string, std::map<std::string, std::set<std::string>>>
        kinds;  // notice IDs by incident and kind
    std::set<std::string> named;
    for (const FeedItem& item : all) {
      kinds[FieldOf(item, "incident")][NoticeKind(item)].insert(item.notice->id);
      for (const auto& [id, incident] : incident_of) {
        if (Names(item, id)) named.insert(id);
      }
    }
    EXPECT_EQ(kinds.size(), 4u) << "seed " << seed;
    for (const auto& [incident, of] : kinds) {
      EXPECT_EQ(of.at("found").size(), 1u) << "seed " << seed << " " << incident;
      EXPECT_EQ(of.at("ended").size(), 1u) << "seed " << seed << " " << incident;
      EXPECT_LE(of.contains("updated") ? of.at("updated").size() : 0, 7u) << "seed " << seed;
    }
    EXPECT_EQ(named.size(), incident_of.size()) << "seed " << seed;
  }
}

// Silences the warnings of jobs, starting at 900 s.
class SilencedIncidents : public ::testing::Test {
 protected:
  void Silence_(int64_t until_s) {
    Silence silence;
    silence.id = "s";
    silence.matchers = *ParseIssueMatchers({"severity=warning"});
    silence.starts_ns = 900 * kNanosPerSecond;
    silence.ends_ns = until_s * kNanosPerSecond;
    silences_.Put(std::move(silence));
  }
  std::vector<std::string> Feed(IssueEvent event) {
    std::vector<FeedItem> sent;
    notices_.Feed({.partition = 0,
                   .offset = offset_++,
                   .event = std::make_shared<const IssueEvent>(std::move(event))},
                  &sent);
    notices_.Settle(0, &sent);
    return Kinds(sent);
  }
  std::vector<std::string> DueAt(int64_t wall_s) {
    std::vector<FeedItem> sent;
    if (notices_.DueNs(0) <= wall_s * kNanosPerSecond)
      notices_.SendDue(0, wall_s * kNanosPerSecond, &sent);
    return Kinds(sent);
  }
  static std::vector<std::string> Kinds(const std::vector<FeedItem>& items) {
    std::vector<std::string> kinds;
    for (const FeedItem& item : items)
      kinds.push_back(Cat(item.event->job, " ", NoticeType(item.notice->kind).substr(20)));
    return kinds;
  }

  DeliveryOptions options_{.name = "w"};
  SilenceSet silences_;
  IncidentPolicy notices_{options_, &silences_, 1000};
  int64_t offset_ = 0;
};

using Kinds_ = std::vector<std::string>;

TEST_F(SilencedIncidents, OpenIncident_IsSentWhenSilenceEnds) {
  Silence_(1'500);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)), Kinds_());
  EXPECT_EQ(Feed(MakeEvent("b", "r", 1)), Kinds_());
  EXPECT_EQ(notices_.withheld(), 2u);
  EXPECT_EQ(Feed(MakeEvent("b", "r", 2, EventType::kIssueResolved)), Kinds_());
  EXPECT_EQ(Feed(MakeEvent("c", "r", 1, EventType::kIssueFound, "critical")), Kinds_({"c found"}));
  EXPECT_EQ(notices_.DueNs(0), 1'500 * kNanosPerSecond);
  EXPECT_EQ(DueAt(1'499), Kinds_());
  EXPECT_EQ(DueAt(1'500), Kinds_({"a found"}));
  EXPECT_EQ(DueAt(1'600), Kinds_());
  EXPECT_EQ(Feed(MakeEvent("a", "r", 600, EventType::kIssueResolved)), Kinds_({"a ended"}));
}

TEST_F(SilencedIncidents, EndOfNotifiedIncident_IsSent) {
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)), Kinds_({"a found"}));
  Silence_(1'500);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 2, EventType::kIssueResolved)), Kinds_({"a ended"}));
}

TEST_F(SilencedIncidents, SilenceEndsEarly_SendsImmediately) {
  Silence_(9'000);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1)), Kinds_());
  Silence_(1'100);
  EXPECT_EQ(DueAt(1'100), Kinds_({"a found"}));
}

TEST_F(SilencedIncidents, IncidentWithinOneTick_IsNotSent) {
  Silence_(9'000);
  EXPECT_EQ(Feed(MakeEvent("a", "r", 1, EventType::kIssueResolved)), Kinds_());
}

}  // namespace
}  // namespace pitwall::notifier
