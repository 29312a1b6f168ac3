// Tests for matchers, routes, and silences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/notifier/routing/routes.h"
#include "services/notifier/routing/silence.h"

namespace pitwall::notifier {
namespace {

using ::testing::HasSubstr;

IssueEvent Issue(std::string severity, std::string job) {
  IssueEvent e;
  e.job = Cat("id-", job);
  e.job_name = std::move(job);
  e.rule = "gpu/heat/Hot";
  e.alert = "Hot";
  e.labels = Labels{{"node", "n1"}};
  e.severity = std::move(severity);
  e.sequence = 1;
  e.id = MakeEventId(e);
  return e;
}

IssueMatchers Matchers(std::vector<std::string> texts) {
  auto parsed = ParseIssueMatchers(texts);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? *parsed : IssueMatchers();
}

TEST(IssueMatchers, ParsesPrometheusSyntax) {
  const IssueEvent issue = Issue("critical", "llm-7");
  for (const char* yes :
       {"severity=\"critical\"", "severity=critical", "{job=~\"llm-.*\", rank=\"\"}",
        "pack=\"gpu\"", "rule=~\".*/Hot\"", "node!=\"n2\",alertname=Hot", "job!~\"x|y\"",
        "pitwall_job=\"id-llm-7\"", "{severity='critical'}"})
    EXPECT_TRUE(Matchers({yes}).Matches(issue)) << yes;
  for (const char* no : {"severity=\"warning\"", "job=~\"llm\"", "rank!=\"\"", "node=~\"n[2-9]\""})
    EXPECT_FALSE(Matchers({no}).Matches(issue)) << no;
  EXPECT_FALSE(Matchers({"severity=critical", "node=n2"}).Matches(issue));
}

TEST(IssueMatchers, RejectsInvalidSyntaxWithPosition) {
  for (const char* bad :
       {"", "{}", "severity", "severity==\"a\"x\"", "=a", "a=\"b", "{a=b", "a=~\"(\"", "a=b c,"})
    EXPECT_FALSE(ParseIssueMatchers({bad}).ok()) << bad;
  EXPECT_THAT(std::string(ToStd(ParseMatchers("severity:critical").status().message())),
              HasSubstr("at 9"));
}

TEST(Routes, FirstMatchWinsUnlessRouteContinues) {
  const Routes routes({{Matchers({"severity=critical"}), {"pager", "audit"}, true},
                       {Matchers({"job=~\"llm.*\""}), {"team"}, false},
                       {Matchers({"node=~\".*\""}), {"rest"}, false}});
  const IssueEvent hot = Issue("critical", "llm-1"), mild = Issue("warning", "vision");
  EXPECT_TRUE(routes.Leads(hot, "pager"));
  EXPECT_TRUE(routes.Leads(hot, "team"));
  EXPECT_FALSE(routes.Leads(hot, "rest"));
  EXPECT_FALSE(routes.Leads(mild, "pager"));
  EXPECT_FALSE(routes.Leads(mild, "team"));
  EXPECT_TRUE(routes.Leads(mild, "rest"));
  EXPECT_TRUE(routes.Leads(mild, "nobody-names-it"));
}

Silence Of(std::string id, std::string matcher, int64_t from, int64_t to) {
  Silence s;
  s.id = std::move(id);
  s.matchers = Matchers({std::move(matcher)});
  s.starts_ns = from;
  s.ends_ns = to;
  s.author = "ada";
  s.comment = "because";
  return s;
}

TEST(SilenceSet, AppliesFromStartToEndAndJoinsAdjacentSilences) {
  SilenceSet set;
  set.Put(Of("a", "severity=warning", 100, 200));
  set.Put(Of("b", "node=n1", 200, 300));
  const IssueEvent mild = Issue("warning", "j"), hot = Issue("critical", "j");
  EXPECT_EQ(set.SilencedUntil(mild, 99), 99);
  EXPECT_EQ(set.SilencedUntil(mild, 100), 300);
  EXPECT_EQ(set.SilencedUntil(hot, 100), 100);
  EXPECT_EQ(set.SilencedUntil(hot, 250), 300);
  EXPECT_EQ(set.SilencedUntil(mild, 300), 300);
  const uint64_t version = set.version();
  set.Remove("b");
  EXPECT_NE(set.version(), version);
  EXPECT_EQ(set.SilencedUntil(mild, 150), 200);
  EXPECT_EQ(set.Holding(mild, 150).size(), 1U);
}

TEST(Silence, RoundTrips) {
  Silence s = Of("0123", "job=~\"a\\\"b\"", 1'700'000'000'000'000'000, 1'700'000'003'000'000'000);
  s.comment = "line\n\"quoted\"";
  s.created_ns = s.starts_ns;
  const auto back = DecodeSilence(EncodeSilence(s));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EncodeSilence(*back), EncodeSilence(s));
  EXPECT_EQ(back->comment, s.comment);
  EXPECT_TRUE(CheckSilence(s).ok());
  s.author = " ";
  EXPECT_FALSE(CheckSilence(s).ok());
  EXPECT_FALSE(DecodeSilence("{\"matchers\":[\"x\"]}").ok());
  EXPECT_FALSE(DecodeSilence("{}").ok());
  EXPECT_FALSE(DecodeSilence("[").ok());
}

}  // namespace
}  // namespace pitwall::notifier
