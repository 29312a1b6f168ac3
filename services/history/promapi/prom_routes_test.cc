#include "services/history/promapi/prom_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "services/history/promapi/testing/prom_api_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::promapi {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

// Clock that advances by one second on each read.
class RushingClock final : public Clock {
 public:
  int64_t WallNs() const override { return kStart; }
  int64_t MonotonicNs() const override { return looks_++ * kSecond; }
  std::unique_ptr<Wakeup> NewWakeup() override { return nullptr; }

 private:
  mutable int64_t looks_ = 0;
};

class PromRoutesTest : public ::testing::Test {
 protected:
  PromRoutesTest() {
    Add("j1", {{"__name__", "m"}, {"node", "a"}}, 1);
    Add("j1", {{"__name__", "m"}, {"node", "b"}}, 10);
    Add("j2", {{"__name__", "m"}, {"node", "a"}}, 100);
    Add("j2", {{"__name__", "n_total"}}, 1);
  }

  // Adds ten samples, 10 s apart.
  void Add(const std::string& job, Labels labels, double factor) {
    history::SampleColumn column;
    column.labels = std::move(labels);
    for (int i = 0; i < 10; ++i) {
      column.times.push_back(kStart + i * 10 * kSecond);
      column.values.push_back(i * factor);
    }
    history_.AddSeries(job, std::move(column));
  }
  std::string Query(std::string_view text, std::string_view more = "&time=1700000050") {
    return api_.Get(Cat("/api/v1/query?query=", PercentEncoded(text), more)).body;
  }
  std::string Range(std::string_view text, std::string_view more) {
    return api_.Get(Cat("/api/v1/query_range?query=", PercentEncoded(text), more)).body;
  }

  fakes::FakeClock clock_{kStart + 90 * kSecond};
  HistoryForTest history_;
  ApiForTest api_{&history_, &clock_};
};

TEST_F(PromRoutesTest, QueryReadsAllJobs) {
  EXPECT_EQ(
      Query("m"),
      R"({"status":"success","data":{"resultType":"vector","result":[)"
      R"({"metric":{"__name__":"m","node":"a","pitwall_job":"j1"},"value":[1700000050,"5"]},)"
      R"({"metric":{"__name__":"m","node":"a","pitwall_job":"j2"},"value":[1700000050,"500"]},)"
      R"({"metric":{"__name__":"m","node":"b","pitwall_job":"j1"},"value":[1700000050,"50"]}]}})");
  EXPECT_THAT(Query("sum by (pitwall_job) (m)"),
              HasSubstr(R"({"pitwall_job":"j1"},"value":[1700000050,"55"])"));
}

TEST_F(PromRoutesTest, MatchersSelectJobs) {
  EXPECT_THAT(Query("sum(m{pitwall_job=\"j2\"})"), HasSubstr("\"500\""));
  EXPECT_THAT(Query("sum(m{pitwall_job=~\"j.\",node=\"a\"})"), HasSubstr("\"505\""));
  EXPECT_THAT(Query("sum(m{pitwall_job!=\"j2\"})"), HasSubstr("\"55\""));
  EXPECT_THAT(Query("count({pitwall_job=\"j2\"})"), HasSubstr("\"2\""));
  EXPECT_THAT(Query("m{pitwall_job=\"j3\"}"), HasSubstr("\"result\":[]"));
}

TEST_F(PromRoutesTest, ReadsOnlySelectedJobs) {
  Query("m{pitwall_job=\"j2\"}", "&time=1700000050");
  EXPECT_EQ(history_.samples_given(), 6U);
  Query("m", "&time=1600000050");
  EXPECT_EQ(history_.samples_given(), 6U);
  Range("sum_over_time(m{pitwall_job=\"j2\"}[15s])", "&start=1700000080&end=1700000090&step=5");
  EXPECT_EQ(history_.samples_given(), 6U + 3U);
}

TEST_F(PromRoutesTest, ReturnsEachResultType) {
  EXPECT_EQ(Query("1+1", "&time=1700000000.5"),
            R"({"status":"success","data":{"resultType":"scalar","result":[1700000000.500,"2"]}})");
  EXPECT_EQ(Query("\"x\"", ""),
            R"({"status":"success","data":{"resultType":"string","result":[1700000090,"x"]}})");
  EXPECT_EQ(Query("m{pitwall_job=\"j2\"}[15s]"),
            R"({"status":"success","data":{"resultType":"matrix","result":[)"
            R"({"metric":{"__name__":"m","node":"a","pitwall_job":"j2"},)"
            R"("values":[[1700000040,"400"],[1700000050,"500"]]}]}})");
  EXPECT_EQ(Range("2", "&start=1700000000&end=1700000001&step=0.5"),
            R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":)"
            R"([[1700000000,"2"],[1700000000.500,"2"],[1700000001,"2"]]}]}})");
}

TEST_F(PromRoutesTest, SortedResultsStaySorted) {
  EXPECT_THAT(Query("sort_desc(m)"), HasSubstr("\"500\"]},{\"metric\":{\"__name__\":\"m\",\"node\":"
                                               "\"b\",\"pitwall_job\":\"j1\"},\"value\":"
                                               "[1700000050,\"50\"]},{"));
  EXPECT_THAT(
      Range("sort(m)", "&start=1700000050&end=1700000051&step=1"),
      HasSubstr(R"("warnings":["PromQL warning: sort is ineffective for range queries since )"
                "results are always ordered by labels (1:1)\"]"));
}

TEST_F(PromRoutesTest, RejectsSameRequestsAsPrometheus) {
  const auto answer = [&](std::string_view target) {
    const http::HttpResponse response = api_.Get(target);
    return Cat(response.status, " ", response.body);
  };
  const std::string q = "/api/v1/query_range?query=m";
  EXPECT_EQ(
      answer(Cat(q, "&start=0&end=11001&step=1")),
      R"(400 {"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of )"
      "11,000 points per timeseries. Try decreasing the query resolution (?step=XX)\"}");
  EXPECT_THAT(answer(Cat(q, "&start=0&end=11000&step=1")), StartsWith("200"));
  EXPECT_THAT(
      answer(Cat(q, "&start=5&end=4&step=1")),
      HasSubstr(R"(invalid parameter \"end\": end timestamp must not be before start time)"));
  EXPECT_THAT(answer(Cat(q, "&start=0&end=4&step=0")),
              HasSubstr(R"(invalid parameter \"step\": zero or negative query resolution)"));
  EXPECT_THAT(answer(Cat(q, "&end=4&step=1")),
              HasSubstr(R"(invalid parameter \"start\": cannot parse \"\" to a valid timestamp)"));
  EXPECT_THAT(
      answer("/api/v1/query?query=m&time=x"),
      HasSubstr(R"(invalid parameter \"time\": invalid time value for 'time': cannot parse)"));
  EXPECT_THAT(answer("/api/v1/query?query=sum("),
              StartsWith(R"(400 {"status":"error","errorType":"bad_data","error":)"
                         R"("invalid parameter \"query\": 1:)"));
  EXPECT_THAT(answer("/api/v1/query?query="), StartsWith("400"));
  EXPECT_THAT(answer("/api/v1/query?query=m&timeout=x"),
              HasSubstr(R"(invalid parameter \"timeout\")"));
  EXPECT_THAT(answer("/api/v1/query?query=m&limit=x"), HasSubstr(R"(invalid parameter \"limit\")"));
  EXPECT_THAT(
      answer(Cat("/api/v1/query_range?start=0&end=1&step=1&query=", PercentEncoded("\"x\""))),
      HasSubstr(R"(invalid expression type \"string\" for range query, must be Scalar or )"
                R"(instant Vector)"));
  EXPECT_THAT(
      answer(Cat("/api/v1/query_range?start=0&end=1&step=1&query=", PercentEncoded("m[5m]"))),
      HasSubstr(R"(\"range vector\")"));
  EXPECT_THAT(
      answer(Cat("/api/v1/query?time=1700000050&query=", PercentEncoded("m + on (node) m"))),
      StartsWith(R"(422 {"status":"error","errorType":"execution")"));
}

TEST_F(PromRoutesTest, LimitTruncatesResultWithWarning) {
  const std::string body = Query("m", "&time=1700000050&limit=2");
  EXPECT_THAT(body, HasSubstr(R"("warnings":["results truncated due to limit"])"));
  EXPECT_THAT(body, ::testing::Not(HasSubstr("\"b\"")));
}

TEST_F(PromRoutesTest, LookbackAndStatsAreAccepted) {
  EXPECT_THAT(Query("m", "&time=1700000095&lookback_delta=5"), HasSubstr("\"result\":[]"));
  EXPECT_THAT(Query("m", "&time=1700000095&lookback_delta=6"), HasSubstr("\"900\""));
  EXPECT_THAT(Query("m", "&time=1700000095&lookback_delta=x"),
              HasSubstr("error parsing lookback delta duration: cannot parse"));
  EXPECT_THAT(Query("m", "&stats=all"), HasSubstr("\"stats\":{\"timings\":{"));
}

TEST_F(PromRoutesTest, UnusualQueries_HaveAnnotations) {
  EXPECT_THAT(
      Query("rate(m[1m])"),
      HasSubstr(R"("infos":["PromQL info: metric might not be a counter, name does not end in )"
                "_total/_sum/_count/_bucket: \\\"m\\\" (1:6)\"]"));
  // No window contains two samples.
  EXPECT_THAT(Query("rate(m[10s])"), ::testing::Not(HasSubstr("infos")));
  EXPECT_THAT(Query("rate(m[10s1ms])"), HasSubstr("infos"));
  EXPECT_THAT(Query("rate(n_total[1m])"), ::testing::Not(HasSubstr("infos")));
  EXPECT_THAT(Query("quantile(1.5, m)"),
              HasSubstr(R"("warnings":["PromQL warning: quantile value should be between 0 and 1, )"
                        "got 1.5 (1:10)\"]"));
}

TEST_F(PromRoutesTest, PitwallFunctionsAndWindowsWork) {
  EXPECT_THAT(Query("avg_over_time(m{pitwall_job=\"j2\"}[3 samples])"), HasSubstr("\"400\""));
  EXPECT_THAT(Query("share_over_time(n_total[20s])"), HasSubstr("\"1\""));
}

TEST_F(PromRoutesTest, QueriesEndAtTheirDeadline) {
  const RushingClock clock;
  const ApiForTest api(&history_, &clock);
  const http::HttpResponse response =
      api.Get("/api/v1/query_range?query=m&start=1700000000&end=1700000090&step=1");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, R"({"status":"error","errorType":"timeout",)"
                           R"("error":"query timed out in expression evaluation"})");
  EXPECT_EQ(api.Get("/api/v1/query?query=m&time=1700000050&timeout=1").status, 503);
  EXPECT_EQ(api.Get("/api/v1/query?query=m&time=1700000050").status, 200);
}

TEST_F(PromRoutesTest, ErrorContainsExceededLimit) {
  PromOptions options;
  options.max_jobs = 1;
  const ApiForTest one_job(&history_, &clock_, {}, options);
  const http::HttpResponse response = one_job.Get("/api/v1/query?query=m&time=1700000050");
  EXPECT_EQ(response.status, 422);
  EXPECT_THAT(response.body, HasSubstr("more than 1 jobs; add a matcher on pitwall_job"));
  EXPECT_EQ(one_job.Get("/api/v1/labels").status, 422);
  options = {};
  options.limits.series = 2;
  EXPECT_EQ(ApiForTest(&history_, &clock_, {}, options)
                .Get("/api/v1/query?query=m&time=1700000050")
                .status,
            422);
  options = {};
  options.max_points = 10;
  EXPECT_EQ(ApiForTest(&history_, &clock_, {}, options)
                .Get("/api/v1/query_range?query=m&start=1700000000&end=1700000090&step=10")
                .status,
            422);
}

TEST_F(PromRoutesTest, ListsSeriesAndLabels) {
  EXPECT_EQ(api_.Get("/api/v1/labels").body,
            R"({"status":"success","data":["__name__","node","pitwall_job"]})");
  EXPECT_EQ(api_.Get("/api/v1/labels?match[]=n_total").body,
            R"({"status":"success","data":["__name__","pitwall_job"]})");
  EXPECT_EQ(api_.Get("/api/v1/label/__name__/values").body,
            R"({"status":"success","data":["m","n_total"]})");
  EXPECT_EQ(api_.Get("/api/v1/label/pitwall_job/values").body,
            R"({"status":"success","data":["j1","j2"]})");
  EXPECT_EQ(api_.Get("/api/v1/label/pitwall_job/values?match[]=n_total").body,
            R"({"status":"success","data":["j2"]})");
  EXPECT_EQ(api_.Get("/api/v1/label/U__node/values?limit=1").body,
            R"({"status":"success","data":["a"],"warnings":["results truncated due to limit"]})");
  EXPECT_EQ(api_.Get("/api/v1/label/node/values?end=1600000000").body,
            R"({"status":"success","data":[]})");
  EXPECT_EQ(api_.Get("/api/v1/series?match[]=n_total&match[]=m{node=\"b\"}").body,
            R"({"status":"success","data":[{"__name__":"m","node":"b","pitwall_job":"j1"},)"
            R"({"__name__":"n_total","pitwall_job":"j2"}]})");
  EXPECT_EQ(api_.Get("/api/v1/series").status, 400);
  EXPECT_THAT(api_.Get("/api/v1/series?match[]={}").body,
              HasSubstr(R"(invalid parameter \"match[]\": )"));
  EXPECT_EQ(api_.Get("/api/v1/series?match[]=rate(m[5m])").status, 400);
  EXPECT_EQ(api_.Get("/api/v1/label//values").status, 404);
  EXPECT_EQ(api_.Get("/api/v1/label/node").status, 404);
}

TEST_F(PromRoutesTest, MetadataComesFromMetricCatalog) {
  EXPECT_EQ(api_.Get("/api/v1/metadata?metric=system_cpu_time_seconds_total").body,
            R"({"status":"success","data":{"system_cpu_time_seconds_total":[{"type":"counter",)"
            R"("unit":"seconds","help":"Time that a logical CPU spent in a mode since boot."}]}})");
  EXPECT_EQ(api_.Get("/api/v1/metadata?metric=nothing").body, R"({"status":"success","data":{}})");
  EXPECT_EQ(api_.Get("/api/v1/metadata?limit=0").body, R"({"status":"success","data":{}})");
  EXPECT_THAT(api_.Get("/api/v1/metadata?limit=x").body, HasSubstr("limit must be a number"));
}

IssueEvent Event(EventType type, const std::string& job, const std::string& rule, int64_t at_s) {
  IssueEvent event;
  event.type = type;
  event.job = job;
  event.rule = rule;
  event.alert = rule.substr(rule.rfind('/') + 1);
  event.labels = Labels({{"alertname", event.alert}, {"node", "a"}});
  event.time = EventTime::FromNs(kStart + at_s * kSecond);
  event.active_since = event.started_at = EventTime::FromNs(kStart + 10 * kSecond);
  event.sequence = 1;
  event.value = 2.5;
  event.summary = "hot";
  return event;
}

TEST_F(PromRoutesTest, OpenIssuesAreFiringAlerts) {
  history_.AddEvent(Event(EventType::kIssueFound, "j1", "p/g/Hot", 20));
  history_.AddEvent(Event(EventType::kIssueFound, "j2", "p/g/Hot", 20));
  IssueEvent ended = Event(EventType::kIssueResolved, "j2", "p/g/Hot", 30);
  ended.sequence = 2;
  history_.AddEvent(ended);
  EXPECT_EQ(api_.Get("/api/v1/alerts").body,
            R"({"status":"success","data":{"alerts":[{"labels":{"alertname":"Hot","node":"a",)"
            R"("pitwall_job":"j1"},"annotations":{"summary":"hot"},"state":"firing",)"
            R"("activeAt":"2023-11-14T22:13:30Z","value":"2.5e+00"}]}})");
}

// The texts match the reasons written by StatusReporter::WaitsFor in
// services/engine/rules/status_reporter.cc.
TEST_F(PromRoutesTest, PendingAlertIsListedUntilStatusChanges) {
  IssueEvent status = Event(EventType::kRuleStatus, "j1", "p/g/Hot", 20);
  status.labels = Labels();
  status.status = RuleStatus::kInProgress;
  status.status_reason =
      "1 element is pending since 2023-11-14T22:13:35Z, and fires at 2023-11-14T22:14:05Z";
  history_.AddEvent(status);
  const std::string pending =
      R"({"labels":{"alertname":"Hot","pitwall_job":"j1"},"annotations":{"summary":"1 element is )"
      R"(pending since 2023-11-14T22:13:35Z, and fires at 2023-11-14T22:14:05Z"},)"
      R"("state":"pending","activeAt":"2023-11-14T22:13:35Z","value":"NaN"})";
  EXPECT_EQ(api_.Get("/api/v1/alerts").body,
            Cat(R"({"status":"success","data":{"alerts":[)", pending, "]}}"));
  RuleGroupInfo group;
  group.name = "p/g";
  RuleInfo hot;
  hot.id = "p/g/Hot";
  hot.name = "Hot";
  group.rules = {hot};
  const ApiForTest api(&history_, &clock_, [&] { return std::vector{group}; });
  EXPECT_THAT(api.Get("/api/v1/rules").body, HasSubstr(R"({"state":"pending","name":"Hot")"));
  EXPECT_THAT(api.Get("/api/v1/rules").body, HasSubstr(Cat("\"alerts\":[", pending, "]")));

  // Steps have no wall time, so the time of the status is used.
  status.rule = "p/g/Slow";
  status.alert = "Slow";
  status.status_reason = "3 elements are pending, the first since step 12, and fires at step 20";
  history_.AddEvent(status);
  EXPECT_THAT(api_.Get("/api/v1/alerts").body,
              HasSubstr(R"("state":"pending","activeAt":"2023-11-14T22:13:40Z")"));

  // While the window is not full, the rule has the status InProgress but no alert, because no
  // condition is pending.
  status.rule = "p/g/Young";
  status.alert = "Young";
  status.status_reason = "not judged before there are 30 samples: 1 so far";
  history_.AddEvent(status);
  EXPECT_THAT(api_.Get("/api/v1/alerts").body, ::testing::Not(HasSubstr("samples")));

  IssueEvent over = Event(EventType::kRuleStatus, "j1", "p/g/Hot", 30);
  over.status = RuleStatus::kNoIssuesFound;
  history_.AddEvent(over);
  EXPECT_THAT(api_.Get("/api/v1/alerts").body, ::testing::Not(HasSubstr("Hot")));
  EXPECT_THAT(api.Get("/api/v1/rules").body, HasSubstr(R"({"state":"inactive","name":"Hot")"));
}

TEST_F(PromRoutesTest, RuleStatesCoverAllJobs) {
  history_.AddEvent(Event(EventType::kIssueFound, "j1", "p/g/Hot", 20));
  IssueEvent status = Event(EventType::kRuleStatus, "j2", "p/g/Cold", 40);
  status.status = RuleStatus::kError;
  status.status_reason = "many-to-many matching";
  history_.AddEvent(status);
  status = Event(EventType::kRuleStatus, "j2", "p/g/Hot", 45);
  status.status = RuleStatus::kNoIssuesFound;
  history_.AddEvent(status);

  RuleGroupInfo group;
  group.name = "p/g";
  group.file = "p.yaml";
  group.interval_seconds = 15;
  RuleInfo hot;
  hot.id = "p/g/Hot";
  hot.name = "Hot";
  hot.query = "m > 3";
  hot.hold_seconds = 30;
  hot.labels = Labels({{"severity", "warning"}});
  RuleInfo record;
  record.id = "p/g/x:y";
  record.name = "x:y";
  record.query = "m";
  record.alerting = false;
  group.rules = {hot, record};
  RuleGroupInfo other = group;
  other.name = "p/other";
  hot.id = "p/g/Cold";
  hot.name = "Cold";
  other.rules = {hot};
  const ApiForTest api(&history_, &clock_, [&] { return std::vector{group, other}; });

  EXPECT_EQ(
      api.Get("/api/v1/rules?rule_group[]=p/g").body,
      R"({"status":"success","data":{"groups":[{"name":"p/g","file":"p.yaml","rules":[)"
      R"({"state":"firing","name":"Hot","query":"m > 3","duration":30,"keepFiringFor":0,)"
      R"("labels":{"severity":"warning"},"annotations":{},"alerts":[{"labels":{"alertname":"Hot",)"
      R"("node":"a","pitwall_job":"j1"},"annotations":{"summary":"hot"},"state":"firing",)"
      R"("activeAt":"2023-11-14T22:13:30Z","value":"2.5e+00"}],"health":"ok","evaluationTime":0,)"
      R"("lastEvaluation":"2023-11-14T22:14:05Z","type":"alerting"},)"
      R"({"name":"x:y","query":"m","labels":{},"health":"unknown","evaluationTime":0,)"
      R"("lastEvaluation":"1970-01-01T00:00:00Z","type":"recording"}],"interval":15,"limit":0,)"
      R"("evaluationTime":0,"lastEvaluation":"2023-11-14T22:14:05Z"}]}})");
  EXPECT_THAT(api.Get("/api/v1/rules?rule_name[]=Cold").body,
              HasSubstr(R"("health":"err","lastError":"j2: many-to-many matching")"));
  EXPECT_THAT(api.Get("/api/v1/rules?type=record").body, ::testing::Not(HasSubstr("alerting")));
  EXPECT_THAT(api.Get("/api/v1/rules?exclude_alerts=true").body, HasSubstr("\"alerts\":[]"));
  EXPECT_EQ(api.Get("/api/v1/rules?type=x").status, 400);
  EXPECT_EQ(api.Get("/api/v1/rules?group_limit=0").status, 400);

  const std::string page = api.Get("/api/v1/rules?group_limit=1").body;
  EXPECT_THAT(page, ::testing::Not(HasSubstr("Cold")));
  const size_t at = page.find("groupNextToken\":\"");
  ASSERT_NE(at, std::string::npos);
  const size_t from = at + 17;
  const std::string token = page.substr(from, page.find('"', from) - from);
  const std::string next =
      api.Get(Cat("/api/v1/rules?group_limit=1&group_next_token=", token)).body;
  EXPECT_THAT(next, HasSubstr("Cold"));
  EXPECT_THAT(next, ::testing::Not(HasSubstr("groupNextToken")));
  EXPECT_EQ(api.Get("/api/v1/rules?group_limit=1&group_next_token=x").status, 400);
}

// If the host does not provide rules, the rules that occur in the history are listed.
TEST_F(PromRoutesTest, RulesAreDerivedFromHistory) {
  history_.AddEvent(Event(EventType::kIssueFound, "j1", "p/g/Hot", 20));
  EXPECT_THAT(
      api_.Get("/api/v1/rules").body,
      StartsWith(R"({"status":"success","data":{"groups":[{"name":"p/g","file":"","rules":[)"
                 R"({"state":"firing","name":"Hot","query":"")"));
}

}  // namespace
}  // namespace pitwall::promapi
