// Tests for parameter changes on a running partition. Requests arrive on pitwall.actions, and the
// tests check the resulting events on pitwall.issues.
#include "services/processor/parameter_change_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"
#include "services/processor/testing/partition_fixture.h"

namespace pitwall::processor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kRules = R"(groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, params: {limit: 5, unused: 1}, expr: m > $limit * $unused}
  - {alert: Names, params: {names: "a.*", last: 3}, expr: 'avg_over_time(m{x=~$names}[$last samples]) > 9'}
)";

// Implements RunningJobs with a single partition that contains all jobs.
class OnePartition final : public RunningJobs {
 public:
  OnePartition(RuleSets* rules, PartitionProcessor* owner) : rules_(rules), owner_(owner) {}
  bool Owns(const std::string& job) const override { return job != "elsewhere"; }
  bool MayOwn(int32_t, int32_t) const override { return true; }
  void Watch(const std::vector<std::string>& jobs) override { owner_->Watch(jobs); }
  std::optional<WatchedJob> Watched(const std::string& job) const override {
    return owner_->Watched(job);
  }
  Status SetRules(engine::CompiledRulesPtr rules) override {
    RETURN_IF_ERROR(rules_->Publish(rules));
    owner_->WantRules(rules->hash());
    return OkStatus();
  }

 private:
  RuleSets* const rules_;
  PartitionProcessor* const owner_;
};

class ParameterChangeHandlerTest : public PartitionFixture {
 protected:
  ParameterChangeHandlerTest() { Begin(kRules); }

  static engine::CompiledRulesPtr Compiled(std::string_view text, std::string_view overrides = "") {
    RuleSet rules{.files = {{"p.yaml", std::string(text)}}};
    if (!overrides.empty()) rules.overrides = RuleSetFile{"overrides.yaml", std::string(overrides)};
    const auto compiled = engine::CompiledRules::Accept(std::move(rules));
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return *compiled;
  }
  // Simulates a processor start.
  void Begin(std::string_view text, std::string_view overrides = "") {
    handler_.reset();
    owner_.reset();
    rules_.emplace(&log_);
    owner_.emplace(0, &clock_, &log_, &*rules_, PartitionOptions());
    jobs_.emplace(&*rules_, &*owner_);
    handler_.emplace(&clock_, &log_, &*jobs_,
                     ParameterChangeOptions{.keep = Duration::Seconds(100)});
    const auto over = handler_->Over(Compiled(text, overrides));
    ASSERT_TRUE(over.ok()) << over.status();
    ASSERT_TRUE(rules_->Publish(*over).ok());
    owner_->WantRules((*over)->hash());
    ASSERT_TRUE(owner_->Recover().ok());
  }
  // Runs for the given number of seconds. The job sends `value` every second, or no samples if
  // `value` is nullopt.
  void Run(int seconds, std::optional<double> value = 3, const std::string& job = "job") {
    for (int i = 0; i < seconds; ++i) {
      if (value.has_value()) Play(Cat(job, "/n sends m=", *value));
      PartitionFixture::Run(1);
      const Status looked = handler_->Look();
      ASSERT_TRUE(looked.ok()) << looked;
    }
  }
  std::string Ask(std::optional<double> value, std::string_view parameter = "limit",
                  std::string_view rule = "p/g/High", const std::string& job = "job") {
    ActionEvent request;
    request.type = ActionEventType::kRequested;
    request.kind = ActionKind::kParameter;
    request.mode = ActionMode::kLive;
    request.issue = Cat("request-", ++asked_);
    request.job = job;
    request.rule = std::string(kParameterRequestRule);
    request.parameter = {std::string(rule), std::string(parameter), value, std::nullopt};
    request.why = "to see";
    request.principal = "act";
    request.time = EventTime::FromNs(clock_.WallNs());
    request.expires = request.time + Duration::Seconds(60);
    request.id = MakeActionId(request);
    Append(kActionsTopic, job, cloudevents::EncodeCloudEvent(request));
    return request.issue;
  }
  // Returns each reply to the request as a string: "done: limit of …" or "refused: <reason>".
  std::vector<std::string> Answers(const std::string& request) {
    std::vector<std::string> out;
    for (const Record& record : log_.Records(kActionsTopic)) {
      const auto action = cloudevents::DecodeActionEvent(record.value);
      if (!action.ok() || action->issue != request) continue;
      if (action->type == ActionEventType::kDone)
        out.push_back(Cat("done: ", ChangeText(action->parameter)));
      if (action->type == ActionEventType::kRefused) out.push_back(Cat("refused: ", action->why));
    }
    return out;
  }
  // Returns "found" or "resolved" for the last issue event of rule High. Returns "" if there is no
  // event.
  std::string LastOfHigh() {
    std::string last;
    for (const Record& record : log_.Records(kIssuesTopic)) {
      const auto event = cloudevents::DecodeCloudEvent(record.value);
      if (!event.ok() || event->alert != "High") continue;
      if (event->type == EventType::kIssueFound) last = "found";
      if (event->type == EventType::kIssueResolved) last = "resolved";
    }
    return last;
  }
  // Replays the telemetry log and returns the resulting events.
  std::vector<std::string> Replayed() {
    RuleSets recorded(&log_);
    engine::Shard shard(&recorded, {});
    EXPECT_TRUE(shard.SetInitialRules("").ok());
    engine::EventSink outputs;
    for (const Record& record : log_.Records(kTelemetryTopic)) {
      EXPECT_TRUE(shard
                      .Apply(LogOffset(record.offset), record.append_time, record.key, record.value,
                             &outputs)
                      .ok());
    }
    std::vector<std::string> events;
    for (const IssueEvent& event : outputs.events)
      events.push_back(cloudevents::EncodeCloudEvent(event));
    return events;
  }
  std::vector<std::string> Published() {
    std::vector<std::string> events;
    for (const Record& record : log_.Records(kIssuesTopic)) events.push_back(record.value);
    return events;
  }
  size_t RuleRecords() { return log_.Records(kRulesTopic).size(); }

  std::optional<OnePartition> jobs_;
  std::optional<ParameterChangeHandler> handler_;
  int asked_ = 0;
};

TEST_F(ParameterChangeHandlerTest, ThresholdChange_AffectsOneJobUntilReset) {
  for (int i = 0; i < 3; ++i) {
    Run(1);
    Run(1, 3, "other");
  }
  EXPECT_EQ(LastOfHigh(), "");
  const std::string down = Ask(2);
  Run(6);
  EXPECT_THAT(Answers(down), ElementsAre("done: limit of p/g/High: 5 -> 2"));
  EXPECT_EQ(LastOfHigh(), "found");
  for (const Record& record : log_.Records(kIssuesTopic)) {
    const auto event = cloudevents::DecodeCloudEvent(record.value);
    if (!event.ok() || event->type != EventType::kIssueFound) continue;
    EXPECT_EQ(event->job, "job");
  }
  const std::string back = Ask(std::nullopt);
  Run(6);
  EXPECT_THAT(Answers(back),
              ElementsAre("done: limit of p/g/High: 2 -> the value of the rule files"));
  EXPECT_EQ(LastOfHigh(), "resolved");
  EXPECT_EQ(Replayed(), Published());
}

TEST_F(ParameterChangeHandlerTest, ChangeSurvivesRestartAndReload) {
  Run(3);
  const std::string down = Ask(2);
  Run(6);
  ASSERT_EQ(LastOfHigh(), "found");
  ASSERT_TRUE(owner_->Finish().ok());
  Begin(kRules);
  Run(4);
  EXPECT_THAT(Answers(down), SizeIs(1));  // the restarted handler must not reply again
  EXPECT_EQ(LastOfHigh(), "found");
  // Simulates a processor that is killed without writing a final snapshot.
  Begin(kRules);
  Run(4);
  EXPECT_EQ(LastOfHigh(), "found");
  // The reload keeps the rule and adds another. The user-set value takes precedence over the
  // overrides file.
  const std::string more = Cat(kRules, "  - {alert: More, expr: m > 1}\n");
  const auto reloaded = handler_->SetFiles(
      Compiled(more, "jobs: [{match: {job: job}, rules: {p/g/High: {limit: 4}}}]"));
  ASSERT_TRUE(reloaded.ok());
  Run(4);
  EXPECT_EQ(LastOfHigh(), "found");
  EXPECT_THAT(Answers(Ask(1)), IsEmpty());
  Run(5);
  EXPECT_EQ(Replayed(), Published());
  EXPECT_THAT(Answers("request-2"), ElementsAre("done: limit of p/g/High: 2 -> 1"));
}

// The rule files remain valid without the rule. The user-set value takes effect again when the rule
// is added back.
TEST_F(ParameterChangeHandlerTest, ParameterOfRemovedRule_IsIgnored) {
  Run(3);
  Ask(2);
  Run(6);
  constexpr std::string_view kOther =
      "groups: [{name: g, interval: 1s, rules: [{alert: B, expr: m > 9}]}]";
  ASSERT_TRUE(handler_->SetFiles(Compiled(kOther)).ok());
  Run(4);
  EXPECT_EQ(LastOfHigh(), "resolved");  // the end reason is rule_removed
  Begin(kOther);
  Run(4);
  ASSERT_TRUE(handler_->SetFiles(Compiled(kRules)).ok());
  Run(6);
  EXPECT_EQ(LastOfHigh(), "found");
  EXPECT_EQ(Replayed(), Published());
}

TEST_F(ParameterChangeHandlerTest, InvalidChange_IsRejectedWithPositionAndReason) {
  Run(3);
  const std::string rule = Ask(1, "limit", "p/g/Hihg");
  const std::string name = Ask(1, "limt");
  const std::string text = Ask(1, "names", "p/g/Names");
  const std::string length = Ask(1, "last", "p/g/Names");
  const std::string job = Ask(1, "limit", "p/g/High", "nobody");
  const std::string elsewhere = Ask(1, "limit", "p/g/High", "elsewhere");
  const size_t before = RuleRecords();
  Run(4);
  EXPECT_THAT(Answers(rule), ElementsAre("refused: rule: not in the rule set (\"p/g/Hihg\") (did "
                                         "you mean \"p/g/High\"?)"));
  EXPECT_THAT(Answers(name), ElementsAre("refused: parameter: rule \"p/g/High\" has no parameter "
                                         "\"limt\" (did you mean \"limit\"?)"));
  EXPECT_THAT(Answers(text), ElementsAre(HasSubstr("refused: parameter: the text of a matcher")));
  EXPECT_THAT(Answers(length), ElementsAre(HasSubstr("the length of a window in samples")));
  EXPECT_THAT(Answers(job), ElementsAre(HasSubstr("refused: job: not found (\"nobody\")")));
  EXPECT_THAT(Answers(elsewhere), IsEmpty());  // another processor owns the job
  EXPECT_EQ(RuleRecords(), before);
}

TEST_F(ParameterChangeHandlerTest, ExpiredRequest_IsRejectedOnce) {
  Run(3);
  const std::string late = Ask(2);
  clock_.Advance(61 * kNanosPerSecond);
  Run(3);
  EXPECT_THAT(Answers(late), ElementsAre(HasSubstr("refused: request: expired before")));
  Begin(kRules);
  Run(3);
  EXPECT_THAT(Answers(late), SizeIs(1));
  EXPECT_EQ(LastOfHigh(), "");
}

// Simulates a processor that is killed after writing the parameter but before replying.
TEST_F(ParameterChangeHandlerTest, ChangeWrittenBeforeRestart_IsAnsweredAfterRestart) {
  Run(3);
  const std::string down = Ask(2);
  ASSERT_TRUE(handler_->Look().ok());  // the first iteration adds the job to the watch list
  PartitionFixture::Run(1);
  ASSERT_TRUE(handler_->Look().ok());  // the second iteration writes the parameter
  ASSERT_THAT(Answers(down), IsEmpty());
  Begin(kRules);
  clock_.Advance(70 * kNanosPerSecond);
  Run(4);
  EXPECT_THAT(Answers(down), ElementsAre("done: limit of p/g/High: -> 2"));
  EXPECT_EQ(LastOfHigh(), "found");
}

TEST_F(ParameterChangeHandlerTest, RequestOfRecreatedTopic_IsAnswered) {
  Run(2);
  const std::string first = Ask(4);
  Run(6);
  ASSERT_EQ(Answers(first).size(), 1u);
  log_.Recreate(kActionsTopic);
  const std::string second = Ask(5);
  Run(20);
  EXPECT_THAT(Answers(second), ElementsAre(HasSubstr("done")));
}

TEST_F(ParameterChangeHandlerTest, LimitsNumberOfParameters) {
  std::string rules = "groups:\n- name: g\n  interval: 1s\n  rules:\n";
  for (size_t i = 0; i <= kMaxParametersOfJob; ++i)
    CatTo(rules, "  - {alert: A", i, ", params: {limit: 5}, expr: m > $limit + ", i, "}\n");
  Begin(rules);
  Run(3);
  std::vector<std::string> asked;
  for (size_t i = 0; i <= kMaxParametersOfJob; ++i) {
    asked.push_back(Ask(2, "limit", Cat("p/g/A", i)));
    clock_.Advance(kNanosPerMilli);
  }
  Run(5);
  for (size_t i = 0; i < kMaxParametersOfJob; ++i)
    EXPECT_THAT(Answers(asked[i]), ElementsAre(HasSubstr("done: ")));
  EXPECT_THAT(Answers(asked.back()),
              ElementsAre(HasSubstr("refused: job: the limit of 32 parameters")));
  EXPECT_EQ(Replayed(), Published());
}

TEST_F(ParameterChangeHandlerTest, ParametersOfEndedJob_AreRemovedAfterRetention) {
  Run(3);
  Ask(2);
  Run(6);
  ASSERT_EQ(LastOfHigh(), "found");
  Play("n ends completed");
  const auto kept = [&] {
    JobParameterTable book(&clock_, &log_);
    EXPECT_TRUE(book.Read().ok());
    return book.Layer().size();
  };
  Run(50, std::nullopt);
  EXPECT_EQ(kept(), 1U);
  Run(60, std::nullopt);
  EXPECT_EQ(kept(), 0U);
  const std::string over = Ask(1);
  Run(4, std::nullopt);
  EXPECT_THAT(Answers(over), ElementsAre(HasSubstr("refused: job: has ended")));
  EXPECT_EQ(Replayed(), Published());
}

}  // namespace
}  // namespace pitwall::processor
