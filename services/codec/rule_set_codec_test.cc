#include "services/codec/rule_set_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "pitwall/state/v1/state.pb.h"

namespace pitwall::codec {
namespace {

using ::testing::HasSubstr;

RuleSet Example() {
  RuleSet rules;
  rules.files = {{"a.yaml", "groups: []\n"}, {"b.yaml", std::string("\0\xff not text", 11)}};
  rules.overrides = RuleSetFile{"overrides.yaml", "x"};
  rules.baselines = {{"run-1.yaml", "run: 1\n"}, {"run-2.yaml", "run: 2\n"}};
  rules.evaluation_interval = Duration::Seconds(15);
  return rules;
}

TEST(RuleSetCodec, RoundTrip) {
  for (const RuleSet& rules : {Example(), RuleSet{}}) {
    const std::string bytes = EncodeRuleSet(rules);
    EXPECT_EQ(bytes, EncodeRuleSet(rules));
    const auto decoded = DecodeRuleSet(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, rules);
    EXPECT_EQ(RuleSetHash(*decoded), RuleSetHash(rules));
  }
}

RuleSet WithParameters() {
  RuleSet rules = Example();
  rules.job_parameters = {{"job-1", "a/g/A", "high", 0.3}, {"job-1", "a/g/A", "low", -1}};
  return rules;
}

// The topic contains the base only once, no matter how often parameters change.
TEST(RuleSetCodec, SetWithJobParametersRefersToBaseByHash) {
  const std::string bytes = EncodeRuleSet(WithParameters());
  EXPECT_EQ(bytes.find("groups"), std::string::npos);
  const auto decoded = DecodeRuleSet(bytes, [](const std::string& hash) -> StatusOr<RuleSet> {
    EXPECT_EQ(hash, RuleSetHash(Example()));
    return Example();
  });
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, WithParameters());
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodeRuleSet(bytes).status()));
  const auto other = [](const std::string&) -> StatusOr<RuleSet> { return RuleSet{}; };
  EXPECT_TRUE(absl::IsDataLoss(DecodeRuleSet(bytes, other).status()));
  const auto gone = [](const std::string&) -> StatusOr<RuleSet> { return NotFound("gone"); };
  EXPECT_TRUE(absl::IsNotFound(DecodeRuleSet(bytes, gone).status()));
}

TEST(RuleSetCodec, JobParametersRoundTrip) {
  const JobParameters all{"job-1",
                          {{{"job-1", "a/g/A", "high", 0.3}, "act", 17, "request-1"},
                           {{"job-1", "a/g/A", "low", -1}, "act", 18, "request-2"}},
                          EventTime::FromNs(19)};
  const std::string bytes = EncodeJobParameters(all);
  const auto decoded = DecodeJobParameters(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, all);
  EXPECT_EQ(ParametersKey("job-1"), "parameters/job-1");
  JobParameters twice = all;
  twice.parameters[1] = twice.parameters[0];
  EXPECT_THAT(std::string(DecodeJobParameters(EncodeJobParameters(twice)).status().message()),
              HasSubstr("is a duplicate"));
  JobParameters infinite = all;
  infinite.parameters[0].parameter.value = HUGE_VAL;
  EXPECT_THAT(std::string(DecodeJobParameters(EncodeJobParameters(infinite)).status().message()),
              HasSubstr("is not finite"));
  EXPECT_FALSE(DecodeJobParameters("").ok());
  EXPECT_FALSE(DecodeJobParameters(bytes.substr(0, bytes.size() / 2)).ok());
}

TEST(RuleSetCodec, HashCoversEveryField) {
  std::set<std::string> hashes{RuleSetHash(Example())};
  const std::vector<std::function<void(RuleSet*)>> changes = {
      [](RuleSet* r) { std::swap(r->files[0], r->files[1]); },
      [](RuleSet* r) { r->files[0].name = "c.yaml"; },
      [](RuleSet* r) { r->files[0].text += " "; },
      [](RuleSet* r) { r->files.pop_back(); },
      [](RuleSet* r) { r->overrides.reset(); },
      [](RuleSet* r) { r->overrides->text = "y"; },
      [](RuleSet* r) { r->evaluation_interval += Duration::Nanos(1); },
      [](RuleSet* r) { r->baselines.pop_back(); },
      [](RuleSet* r) { r->baselines.clear(); },
      [](RuleSet* r) { r->baselines[1].text += " "; },
      [](RuleSet* r) { r->job_parameters = WithParameters().job_parameters; },
      [](RuleSet* r) {
        r->job_parameters = {{"job-1", "a/g/A", "high", 0.25}};
      },
      [](RuleSet* r) {
        r->job_parameters = {{"job-2", "a/g/A", "high", 0.25}};
      },
      [](RuleSet* r) {
        r->job_parameters = {{"job-1", "a/g/A", "low", 0.25}};
      },
      [](RuleSet* r) {  // the same bytes, divided differently between name and text
        r->files[0] = {"a.yamlg", "roups: []\n"};
      },
  };
  for (const auto& change : changes) {
    RuleSet rules = Example();
    change(&rules);
    EXPECT_TRUE(hashes.insert(RuleSetHash(rules)).second);
  }
}

// Topics contain hashes written by earlier versions.
TEST(RuleSetCodec, HashesMatchEarlierVersions) {
  EXPECT_EQ(RuleSetHash(RuleSet{}), "0d5e254f341ab66c42b8689ab2a49580");
  EXPECT_EQ(RuleSetHash(Example()), "c32c75dae6a5827d731bd3c48d60e659");
}

TEST(RuleSetCodec, RejectsInvalidRuleSet) {
  state::v1::RuleSet message;
  ASSERT_TRUE(message.ParseFromString(EncodeRuleSet(Example())));
  auto refused = [](const state::v1::RuleSet& m) {
    return std::string(DecodeRuleSet(m.SerializeAsString()).status().message());
  };
  auto changed = message;
  changed.mutable_files(0)->set_content("other");
  EXPECT_THAT(refused(changed), HasSubstr("hash does not match the content"));
  changed = message;
  changed.set_evaluation_interval_ns(0);
  EXPECT_THAT(refused(changed), HasSubstr("interval"));
  changed = message;
  changed.mutable_files(0)->set_name("b.yaml");
  EXPECT_THAT(refused(changed), HasSubstr("two files are named \"b.yaml\""));
  EXPECT_FALSE(DecodeRuleSet("nonsense").ok());
  EXPECT_FALSE(DecodeRuleSet("").ok());
}

}  // namespace
}  // namespace pitwall::codec
