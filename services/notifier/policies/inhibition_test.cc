// Tests for inhibition. They check which events are sent for a given event sequence.
#include "services/notifier/policies/inhibition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "services/notifier/testing/notifier_fixture.h"

namespace pitwall::notifier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Receiver that identifies issues by name. Each Feed call is one tick with the events of one job.
class Receiver {
 public:
  explicit Receiver(std::vector<std::string> severities = {}, size_t max_issues = 100)
      : inhibition_([options = Options(std::move(severities))](
                        const IssueEvent& event) { return options.Selects(event); },
                    max_issues) {}
  static DeliveryOptions Options(std::vector<std::string> severities) {
    DeliveryOptions options;
    options.severities = std::move(severities);
    return options;
  }

  // "+name", "~name", and "-name" are found, updated, and resolved events. "+name<cause" sets a
  // root cause. "?" is a rule status. Names in capitals have the severity "critical". Returns the
  // sent events as "<sign><name>#<sequence>". `settle` means that the tick is complete.
  std::vector<std::string> Feed(int64_t at, const std::vector<std::string>& words,
                                bool settle = true) {
    std::vector<FeedItem> sent;
    for (const std::string& word : words)
      inhibition_.Feed({.offset = ++offset_, .event = Event(at, word)}, &sent);
    if (settle) inhibition_.Settle(0, &sent);
    std::vector<std::string> out;
    for (const FeedItem& item : sent) {
      const IssueEvent& e = *item.event;
      const char sign = e.type == EventType::kIssueFound      ? '+'
                        : e.type == EventType::kIssueUpdated  ? '~'
                        : e.type == EventType::kIssueResolved ? '-'
                                                              : '?';
      out.push_back(Cat(std::string(1, sign), e.rule, "#", e.sequence));
      offsets_.push_back(item.offset);
    }
    return out;
  }
  Inhibition& inhibition() { return inhibition_; }
  int64_t offset() const { return offset_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }

 private:
  IssueEventPtr Event(int64_t at, const std::string& word) {
    const size_t cause = word.find('<');
    const std::string name = word.substr(1, cause == std::string::npos ? cause : cause - 1);
    const EventType type = word[0] == '+'   ? EventType::kIssueFound
                           : word[0] == '~' ? EventType::kIssueUpdated
                           : word[0] == '-' ? EventType::kIssueResolved
                                            : EventType::kRuleStatus;
    if (word[0] == '+') {
      began_[name] = at;
      sequence_[name] = 0;
    }
    IssueEvent e = MakeEvent("job", name, ++sequence_[name], type,
                             std::isupper(name[0]) != 0 ? "critical" : "warning", began_[name]);
    e.time = EventTime::FromNs(at * kNanosPerSecond);
    if (word[0] == '+') ids_[name] = e.id;
    if (cause != std::string::npos) e.root_cause = Id(word.substr(cause + 1));
    return std::make_shared<const IssueEvent>(std::move(e));
  }
  // Returns the issue's ID. For an issue that has not been found yet, assumes that it will be found
  // at time 100.
  std::string Id(const std::string& name) const {
    const auto at = ids_.find(name);
    return at == ids_.end() ? MakeEvent("job", name, 1, EventType::kIssueFound,
                                        std::isupper(name[0]) != 0 ? "critical" : "warning", 100)
                                  .id
                            : at->second;
  }

  Inhibition inhibition_;
  int64_t offset_ = 0;
  std::vector<int64_t> offsets_;
  std::map<std::string, int64_t> began_;
  std::map<std::string, uint64_t> sequence_;
  std::map<std::string, std::string> ids_;
};

TEST(Inhibition, CauseFoundFirst_SuppressesSymptom) {
  Receiver r;
  EXPECT_THAT(r.Feed(100, {"+cause"}), ElementsAre("+cause#1"));
  EXPECT_THAT(r.Feed(101, {"+symptom<cause"}), IsEmpty());
  EXPECT_EQ(r.inhibition().withheld(), 1U);
  EXPECT_THAT(r.Feed(161, {"~symptom<cause", "?"}), ElementsAre("?#1"));
  EXPECT_EQ(r.inhibition().suppressed(), 2U);
  // The symptom ends first, so it is never sent.
  EXPECT_THAT(r.Feed(170, {"-symptom<cause"}), IsEmpty());
  EXPECT_THAT(r.Feed(180, {"-cause"}), ElementsAre("-cause#2"));
  EXPECT_EQ(r.inhibition().suppressed(), 3U);
  EXPECT_EQ(r.inhibition().withheld(), 0U);
}

TEST(Inhibition, SymptomFoundFirst_SendsItsEnd) {
  Receiver r;
  EXPECT_THAT(r.Feed(100, {"+symptom"}), ElementsAre("+symptom#1"));
  EXPECT_THAT(r.Feed(110, {"+cause"}), ElementsAre("+cause#1"));
  EXPECT_THAT(r.Feed(160, {"~symptom<cause"}), IsEmpty());
  EXPECT_THAT(r.Feed(460, {"~symptom<cause"}), IsEmpty());
  EXPECT_EQ(r.inhibition().withheld(), 0U);
  EXPECT_THAT(r.Feed(470, {"-symptom<cause"}), ElementsAre("-symptom#4"));
}

TEST(Inhibition, CauseEndsFirst_SendsSuppressedEvents) {
  Receiver r;
  r.Feed(100, {"+cause"});
  EXPECT_THAT(r.Feed(101, {"+never<cause", "+once<cause"}), IsEmpty());
  EXPECT_THAT(r.Feed(200, {"~never<cause"}), IsEmpty());
  EXPECT_THAT(r.Feed(300, {"~never<cause"}), IsEmpty());
  // Only the first and the newest suppressed events are sent.
  EXPECT_THAT(r.Feed(310, {"-cause"}), ElementsAre("-cause#2", "+never#1", "~never#3", "+once#1"));
  // A suppressed event does not count as delivered before the cause ends.
  EXPECT_THAT(r.offsets(), ElementsAre(1, 6, 6, 6, 6));
  EXPECT_THAT(r.Feed(360, {"~never<cause"}), ElementsAre("~never#4"));  // the cause has ended
  EXPECT_THAT(r.Feed(400, {"-never<cause", "-once<cause"}), ElementsAre("-never#5", "-once#2"));
  // For an issue that was sent before its cause was found, only the new events are sent.
  Receiver known;
  known.Feed(100, {"+symptom"});
  known.Feed(110, {"+cause"});
  known.Feed(160, {"~symptom<cause"});
  EXPECT_THAT(known.Feed(200, {"-cause"}), ElementsAre("-cause#2", "~symptom#2"));
  EXPECT_THAT(known.Feed(210, {"+cause"}), ElementsAre("+cause#1"));
  EXPECT_THAT(known.Feed(220, {"-cause"}), ElementsAre("-cause#2"));
}

TEST(Inhibition, EvaluatesEventsOfTickTogether) {
  Receiver r;
  // The symptom's event precedes the cause's event.
  EXPECT_THAT(r.Feed(100, {"+symptom<cause", "+cause"}), ElementsAre("+cause#1"));
  // Both issues end in the same tick, and the cause ends first.
  EXPECT_THAT(r.Feed(200, {"-cause", "-symptom<cause"}), ElementsAre("-cause#2"));
  // A later read returns the remaining events of the tick.
  r.Feed(100, {"+cause"});
  EXPECT_THAT(r.Feed(101, {"+symptom<cause"}, /*settle=*/false), IsEmpty());
  EXPECT_EQ(r.inhibition().UndecidedFrom(0), r.offset());
  EXPECT_THAT(r.Feed(300, {"-cause"}, /*settle=*/false), ElementsAre("-cause#2"));
  EXPECT_THAT(r.Feed(300, {"-symptom<cause"}, /*settle=*/false), IsEmpty());
  r.Feed(100, {"+cause"});
  r.Feed(101, {"+symptom<cause"});
  EXPECT_THAT(r.Feed(400, {"-cause"}, /*settle=*/false), ElementsAre("-cause#2"));
  EXPECT_THAT(r.Feed(401, {"+other"}, /*settle=*/false), ElementsAre("+symptom#1", "+other#1"));
  EXPECT_EQ(r.inhibition().UndecidedFrom(0), INT64_MAX);
}

TEST(Inhibition, FollowsChangedAndRemovedRootCauses) {
  Receiver r;
  r.Feed(100, {"+a", "+b", "+symptom<a"});
  EXPECT_THAT(r.Feed(160, {"~symptom<b"}), IsEmpty());
  EXPECT_THAT(r.Feed(170, {"-a"}), ElementsAre("-a#2"));  // "a" is no longer the root cause
  EXPECT_THAT(r.Feed(220, {"~symptom"}), ElementsAre("+symptom#1", "~symptom#3"));
  EXPECT_THAT(r.Feed(230, {"-b"}), ElementsAre("-b#2"));
  // A cause that ended before the evaluation does not inhibit.
  EXPECT_THAT(r.Feed(240, {"+late<b"}), ElementsAre("+late#1"));
}

TEST(Inhibition, CauseNotSentToReceiver_DoesNotInhibit) {
  Receiver r({"critical"});
  r.Feed(100, {"+cause"});
  EXPECT_THAT(r.Feed(101, {"+SYMPTOM<cause"}), ElementsAre("+SYMPTOM#1"));
  r.Feed(102, {"+CAUSE"});
  EXPECT_THAT(r.Feed(103, {"+OTHER<CAUSE"}), IsEmpty());
}

TEST(Inhibition, IssueWithUnknownState_IsSent) {
  Receiver r;
  // The history starts after the issue was found, so the found event may have been sent.
  r.Feed(100, {"+cause"});
  r.Feed(100, {"~symptom<cause"});
  Receiver later;
  EXPECT_THAT(later.Feed(300, {"-symptom<cause"}), ElementsAre("-symptom#1"));
}

TEST(Inhibition, IssueActedOn_IsAlwaysSent) {
  Receiver r;
  const auto act = [&](const std::string& id) {
    std::vector<FeedItem> sent;
    const bool silent = r.inhibition().Exempt(id, 99, &sent);
    std::vector<std::string> out = {silent ? "silent" : "-"};
    for (const FeedItem& item : sent) out.push_back(Cat(item.event->rule, "@", item.offset));
    return out;
  };
  const auto id = [](std::string_view name, int64_t began) {
    return MakeEvent("job", name, 1, EventType::kIssueFound, "warning", began).id;
  };
  r.Feed(100, {"+cause"});
  EXPECT_THAT(r.Feed(101, {"+symptom<cause", "+other<cause"}), IsEmpty());
  EXPECT_THAT(act(id("symptom", 101)), ElementsAre("-", "symptom@99"));
  EXPECT_THAT(act(id("symptom", 101)), ElementsAre("-"));
  EXPECT_THAT(r.Feed(102, {"~symptom<cause"}), ElementsAre("~symptom#2"));
  EXPECT_THAT(r.Feed(103, {"-symptom", "-other"}), ElementsAre("-symptom#3"));
  // The issue ended before the executor's action on it was known, so its later events are sent.
  EXPECT_THAT(act(id("other", 101)), ElementsAre("silent"));
  EXPECT_THAT(act(id("other", 101)), ElementsAre("-"));
  EXPECT_THAT(act(id("later", 104)), ElementsAre("-"));
  EXPECT_THAT(r.Feed(104, {"+later<cause"}), ElementsAre("+later#1"));
}

TEST(Inhibition, DropsOldIssues) {
  Receiver r({}, 3);
  r.Feed(100, {"+cause"});
  r.Feed(101, {"+s1<cause"});
  r.Feed(102, {"+s2<cause"});
  r.Feed(103, {"~cause"});
  // The issue that has had no events for the longest time is sent and evicted.
  EXPECT_THAT(r.Feed(104, {"+s3<cause"}), ElementsAre("+s1#1"));
  EXPECT_THAT(r.Feed(105, {"-s1<cause"}), ElementsAre("-s1#2"));
  EXPECT_EQ(r.inhibition().withheld(), 2U);
}

// Property: the end of every sent issue is sent, and no state remains after all issues have ended.
TEST(Inhibition, EndOfNotifiedIssue_IsAlwaysSent) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  Receiver r;
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  std::map<std::string, bool> open;
  std::map<std::string, int> notified;  // +1 when found, -1 when ended
  for (int64_t at = 100; at < 5000; ++at) {
    std::vector<std::string> words;
    for (const std::string& name : names) {
      const bool last = at == 4999;
      if (!last && random() % 4 != 0) continue;
      if (last && !open[name]) continue;
      std::string word = Cat(!open[name] ? "+" : last || random() % 3 == 0 ? "-" : "~", name);
      if (random() % 2 == 0) CatTo(word, "<", names[random() % names.size()]);
      open[name] = word[0] != '-';
      words.push_back(word);
    }
    const bool settle = random() % 2 == 0 || at == 4999;
    for (const std::string& sent : r.Feed(at, words, settle)) {
      const std::string name = sent.substr(1, 1);
      ASSERT_EQ(notified[name], sent[0] == '+' ? 0 : 1) << at << " " << sent;
      notified[name] += sent[0] == '+' ? 1 : sent[0] == '-' ? -1 : 0;
    }
    // While any issue is open, at least one open issue has been sent, regardless of the causes.
    if (!settle) continue;
    bool some_open = false, some_sent = false;
    for (const std::string& name : names) {
      some_open |= open[name];
      some_sent |= notified[name] == 1;
    }
    ASSERT_TRUE(some_sent || !some_open) << at;
  }
  for (const std::string& name : names) EXPECT_EQ(notified[name], 0) << name;
  EXPECT_GT(r.inhibition().suppressed(), 100U);
  EXPECT_EQ(r.inhibition().withheld(), 0U);
}

}  // namespace
}  // namespace pitwall::notifier
