// Tests for requests in the form that Grafana's Prometheus data source sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/history/promapi/testing/prom_api_fixture.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::promapi {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBegin = 1'700'000'000 * kNanosPerSecond;

class GrafanaTest : public ::testing::Test {
 protected:
  GrafanaTest() {
    for (const char* node : {"n1", "n2"}) {
      history::SampleColumn column;
      column.labels = Labels({{"__name__", "hw_gpu_utilization_ratio"}, {"node", node}});
      for (int i = 0; i <= 60; ++i) {
        column.times.push_back(kBegin + i * 15 * kNanosPerSecond);
        column.values.push_back(0.5);
      }
      history_.AddSeries("job-1", std::move(column));
    }
  }

  fakes::FakeClock clock_{kBegin + 900 * kNanosPerSecond};
  HistoryForTest history_;
  ApiForTest api_{&history_, &clock_};
};

// "Save & test" sends a health check by POST and then reads the build info.
TEST_F(GrafanaTest, SaveAndTestSucceeds) {
  const http::HttpResponse health =
      api_.Post("/api/v1/query", FormBody({{"query", "1+1"}, {"time", "1700000900"}}));
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body,
            R"({"status":"success","data":{"resultType":"scalar","result":[1700000900,"2"]}})");
  const http::HttpResponse build = api_.Get("/api/v1/status/buildinfo");
  EXPECT_EQ(build.status, 200);
  EXPECT_THAT(build.body, HasSubstr(R"("version":"3.14.0+pitwall-)"));
}

// The query builder reads the metric names and their help texts, and then the labels and values of
// the selected metric.
TEST_F(GrafanaTest, QueryBuilderListsMetricsAndLabels) {
  EXPECT_THAT(api_.Get("/api/v1/metadata?limit=40000").body,
              HasSubstr(R"("hw_gpu_utilization_ratio":[{"type":"gauge","unit":"ratio")"));
  EXPECT_EQ(
      api_.Get("/api/v1/label/__name__/values?start=1700000000&end=1700000900&limit=40000").body,
      R"({"status":"success","data":["hw_gpu_utilization_ratio"]})");
  EXPECT_EQ(api_.Post("/api/v1/labels", FormBody({{"start", "1700000000"},
                                                  {"end", "1700000900"},
                                                  {"limit", "40000"},
                                                  {"match[]",
                                                   "{__name__=\"hw_gpu_utilization_"
                                                   "ratio\"}"}}))
                .body,
            R"({"status":"success","data":["__name__","node","pitwall_job"]})");
  EXPECT_EQ(api_.Get(Cat("/api/v1/label/node/values?start=1700000000&end=1700000900&match%5B%5D=",
                         PercentEncoded("{__name__=\"hw_gpu_utilization_ratio\","
                                        "pitwall_job=\"job-1\"}")))
                .body,
            R"({"status":"success","data":["n1","n2"]})");
  EXPECT_THAT(api_.Post("/api/v1/series", FormBody({{"start", "1700000000"},
                                                    {"end", "1700000900"},
                                                    {"match[]", "hw_gpu_utilization_ratio"}}))
                  .body,
              HasSubstr(R"({"__name__":"hw_gpu_utilization_ratio","node":"n1",)"));
}

// A panel sends a POST with the step in seconds and $__rate_interval expanded.
TEST_F(GrafanaTest, PanelGetsRangeQueryResult) {
  const http::HttpResponse panel =
      api_.Post("/api/v1/query_range",
                FormBody({{"query", "avg by(node) (hw_gpu_utilization_ratio{pitwall_job=~\".*\"})"},
                          {"start", "1700000100"},
                          {"end", "1700000130"},
                          {"step", "15"}}));
  EXPECT_EQ(panel.status, 200);
  EXPECT_EQ(
      panel.body,
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"node":"n1"},)"
      R"("values":[[1700000100,"0.5"],[1700000115,"0.5"],[1700000130,"0.5"]]},)"
      R"({"metric":{"node":"n2"},"values":[[1700000100,"0.5"],[1700000115,"0.5"],)"
      R"([1700000130,"0.5"]]}]}})");
  // A table panel sends an instant query, and times may have milliseconds.
  EXPECT_EQ(api_.Post("/api/v1/query_range", FormBody({{"query", "hw_gpu_utilization_ratio"},
                                                       {"start", "1700000100.123"},
                                                       {"end", "1700000130.456"},
                                                       {"step", "0.25"}}))
                .status,
            200);
  EXPECT_EQ(api_.Post("/api/v1/query", FormBody({{"query", "topk(1, hw_gpu_utilization_ratio)"},
                                                 {"time", "1700000900.5"}}))
                .status,
            200);
}

// The other tabs of the data source query exemplars, alerts, and rules.
TEST_F(GrafanaTest, OtherTabsGetValidResponses) {
  EXPECT_EQ(api_.Get("/api/v1/query_exemplars?query=up&start=1700000000&end=1700000900").body,
            R"({"status":"success","data":[]})");
  EXPECT_EQ(api_.Get("/api/v1/rules").body, R"({"status":"success","data":{"groups":[]}})");
  EXPECT_EQ(api_.Get("/api/v1/alerts").body, R"({"status":"success","data":{"alerts":[]}})");
}

}  // namespace
}  // namespace pitwall::promapi
