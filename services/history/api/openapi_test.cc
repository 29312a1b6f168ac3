// Tests that the OpenAPI file matches the routes and that every response matches its schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "services/base/system/files.h"
#include "services/history/api/answers.h"
#include "services/history/api/openapi_text.h"
#include "services/history/api/testing/api_fixture.h"
#include "services/history/api/testing/schema_check.h"

namespace pitwall::history {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OpenApi : public ApiTest {
 protected:
  OpenApi() : document_(Document()), check_(document_) {}

  static yaml::Node Document() {
    StatusOr<yaml::Node> document = yaml::ParseYaml("openapi.yaml", kOpenApiText);
    EXPECT_TRUE(document.ok()) << document.status();
    return *std::move(document);
  }

  static std::string Lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return out;
  }
  const yaml::Node& Operation(std::string_view method, std::string_view path) const {
    static const yaml::Node kNone;
    const yaml::Node* at = document_.Find("paths")->Find(path);
    const yaml::Node* operation = at == nullptr ? nullptr : at->Find(Lower(method));
    return operation == nullptr ? kNone : *operation;
  }
  // Returns the schema for a JSON response with status 200, or the schema for an error.
  const yaml::Node* SchemaOf(const yaml::Node& operation, std::string_view status) const {
    const yaml::Node& response = check_.Resolve(*operation.Find("responses")->Find(status));
    const yaml::Node* json = response.Find("content")->Find("application/json");
    return json == nullptr ? nullptr : json->Find("schema");
  }
  std::vector<std::string> Faults(std::string_view method, std::string_view path,
                                  const http::HttpResponse& response) const {
    const yaml::Node* schema =
        SchemaOf(Operation(method, path), response.status == 200 ? "200" : "default");
    if (schema == nullptr) return {"no schema"};
    const StatusOr<yaml::Node> value =
        yaml::ParseYaml("answer", WithEscapedOverride(response.body));
    if (!value.ok()) return {std::string(ToStd(value.status().message()))};
    return check_.Check(*schema, *value);
  }

  const yaml::Node document_;
  const SchemaCheck check_;
};

TEST_F(OpenApi, MatchesRoutesAndParameters) {
  const StatusOr<std::string> page = ReadFile("docs/api.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  std::set<std::string> routes, in_file;
  for (const RouteRule& route : RouteRules()) {
    const std::string name = Cat(route.method, " ", route.path);
    routes.insert(Cat(Lower(route.method), " ", route.path));
    EXPECT_THAT(*page, HasSubstr(Cat("`", name, "`")));
    const yaml::Node& operation = Operation(route.method, route.path);
    ASSERT_TRUE(operation.IsMap()) << name;
    std::map<std::string, std::pair<bool, bool>> rules, written;
    for (const ParameterRule& rule : route.parameters)
      rules[std::string(rule.name)] = {rule.required, rule.repeatable};
    if (const yaml::Node* parameters = operation.Find("parameters")) {
      for (const yaml::Node& item : parameters->items()) {
        const yaml::Node& parameter = check_.Resolve(item);
        ASSERT_TRUE(parameter.IsMap()) << name;
        const yaml::Node* required = parameter.Find("required");
        const yaml::Node* explode = parameter.Find("explode");
        written[parameter.Find("name")->scalar()] = {
            required != nullptr && required->scalar() == "true",
            parameter.Find("schema")->Find("type")->scalar() == "array" &&
                (explode == nullptr || explode->scalar() == "true")};
      }
    }
    EXPECT_EQ(rules, written) << name;
  }
  for (const auto& path : document_.Find("paths")->entries()) {
    for (const auto& method : path.value.entries()) in_file.insert(Cat(method.key, " ", path.key));
  }
  EXPECT_EQ(routes, in_file);
}

TEST_F(OpenApi, EveryResponseMatchesItsSchema) {
  const std::string issue = IssueId(TestIssue("default/x/Alert", EventType::kIssueFound, 1, 2));
  const std::vector<std::pair<std::string, std::string>> asked = {
      {"/jobs", ""},
      {"/jobs", "limit=1&state=ended&sort=issues&order=asc&owner=uid:1000"},
      {"/job", "job=job-1"},
      {"/series", "job=job-1&limit=2"},
      {"/samples", "job=job-1&match=hw_gpu_utilization_ratio"},
      {"/samples", "job=job-1&match=train_step_duration_seconds&mode=train&from_step=1"},
      {"/chart", "job=job-1&match=hw_gpu_utilization_ratio"},
      {"/chart", "job=job-1&match=hw_gpu_utilization_ratio&match=hostile&width=5"},
      {"/chart", "job=job-1&match=train_step_duration_seconds&axis=step"},
      {"/chart", "job=job-1&match=train_step_duration_seconds&axis=step&width=3"},
      {"/heatmap", "job=job-1&match=hw_gpu_utilization_ratio&width=10"},
      {"/heatmap/steps", "job=job-1"},
      {"/heatmap/steps", "job=job-1&basis=own"},
      {"/spans", "job=job-1"},
      {"/spans", "job=job-1&kind=operator&rank=0&from_step=0&to_step=1&limit=1"},
      {"/steps", "job=job-1"},
      {"/phases", "job=job-1&last=2"},
      {"/operators", "job=job-1"},
      {"/tensors", "job=job-1"},
      {"/resources", "job=job-1"},
      {"/issues", "job=job-1"},
      {"/issue", Cat("job=job-1&id=", issue)},
      {"/incidents", "job=job-1"},
      {"/rules", "job=job-1"},
      {"/actions", "job=job-1"},
      {"/captures", "job=job-1"},
      {"/report", "job=job-1"},
      {"/report", "job=job-1&format=json"},
      {"/what-if", "job=job-1&rank=1"},
      {"/what-if", "job=job-1&rank=7"},
      {"/differs", "job=job-1&from=2026-01-01T00:00:40Z&to=2026-01-01T00:00:50Z"},
      {"/session", ""},
  };
  std::set<std::string> covered = {"/stream", "/openapi.yaml"};  // these responses are not JSON
  for (const auto& [path, query] : asked) {
    const http::HttpResponse response = Get(Cat(path, "?", query));
    EXPECT_EQ(response.status, 200) << path << "?" << query << " " << response.body;
    EXPECT_THAT(Faults("GET", path, response), IsEmpty()) << path << "?" << query;
    covered.insert(path);
    // The lists must not be empty, because an empty list matches any item schema.
    EXPECT_EQ(response.body.find("[]}"), std::string::npos) << path << "?" << query;
    const http::HttpResponse unknown = Get(Cat(path, "?nonsense=1"));
    EXPECT_EQ(unknown.status, 400);
    EXPECT_THAT(Faults("GET", path, unknown), IsEmpty());
  }
  for (const RouteRule& route : RouteRules()) {
    EXPECT_TRUE(route.method != "GET" || covered.contains(std::string(route.path))) << route.path;
  }
  http::HttpRequest login;
  login.body = R"({"token": "see"})";
  EXPECT_THAT(Faults("POST", "/session", Ask("POST", "/session", login)), IsEmpty());
  EXPECT_THAT(Faults("DELETE", "/session", Ask("DELETE", "/session")), IsEmpty());
  FakeCaptures captures;
  options_.captures = &captures;
  history_.Edit("runs", [](auto*) {});
  const http::HttpResponse asked_for = Ask("POST", "/job/capture?job=runs");
  EXPECT_EQ(asked_for.status, 200) << asked_for.body;
  EXPECT_THAT(Faults("POST", "/job/capture", asked_for), IsEmpty());
  const http::HttpResponse archived = Ask("POST", "/job/archive?job=job-1");
  EXPECT_EQ(archived.status, 200);
  EXPECT_THAT(Faults("POST", "/job/archive", archived), IsEmpty());
  const http::HttpResponse deleted = Ask("DELETE", "/job?job=job-1");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_THAT(Faults("DELETE", "/job", deleted), IsEmpty());
}

TEST_F(OpenApi, SchemaCheckReportsMismatches) {
  http::HttpResponse response = Get("/jobs");
  const std::string good = response.body;
  const auto with = [&](std::string_view from, std::string_view to) {
    response.body = good;
    const size_t at = response.body.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    response.body.replace(at, from.size(), to);
    return Faults("GET", "/jobs", response);
  };
  EXPECT_THAT(with("\"total\":1", "\"total\":\"1\""), Not(IsEmpty()));
  EXPECT_THAT(with("\"total\":1", "\"sum\":1"), Not(IsEmpty()));
  EXPECT_THAT(with("\"state\":\"ended\"", "\"state\":\"over\""), Not(IsEmpty()));
  EXPECT_THAT(with("\"samples\":123", "\"samples\":null"), Not(IsEmpty()));
  EXPECT_THAT(with("\"first_ns\":\"", "\"first_ns\":\"x"), Not(IsEmpty()));
}

TEST_F(OpenApi, SchemaCheckRequiresOneOfTheChoices) {
  constexpr std::string_view kChart = "/chart?job=job-1&match=hw_gpu_utilization_ratio";
  http::HttpResponse response = Get(kChart);
  EXPECT_THAT(Faults("GET", "/chart", response), IsEmpty());
  constexpr std::string_view kAxis = "\"axis\":\"time\"";
  const size_t at = response.body.find(kAxis);
  ASSERT_NE(at, std::string::npos);
  response.body.replace(at, kAxis.size(), "\"axis\":\"step\"");
  EXPECT_THAT(Faults("GET", "/chart", response), Contains("$: matches 0 of oneOf"));
}

TEST(ApiRoutes, ActionsAndSessions_DoNotWaitForQueries) {
  std::set<std::string> actions;
  for (const http::HttpRoute& route : Routes(ApiOptions())) {
    const bool acts = route.role == Role::kAct || route.open;
    EXPECT_EQ(route.lane, acts ? http::Lane::kActions : http::Lane::kQueries) << route.path;
    if (acts) actions.insert(route.path);
  }
  EXPECT_EQ(actions.contains(Cat(kApiPrefix, "/job/stop")), true);
}

TEST(ApiRoutes, CanceledRequests_HaveDistinctCodes) {
  EXPECT_EQ(ErrorResponse(Cancelled("request: gone")).status, 499);
  EXPECT_EQ(ErrorResponse(DeadlineExceeded("request: slow")).status, 503);
}

TEST_F(OpenApi, FileIsServed) {
  const http::HttpResponse response = Get("/openapi.yaml");
  EXPECT_EQ(response.content_type, "application/yaml");
  EXPECT_EQ(response.body, kOpenApiText);
}

}  // namespace
}  // namespace pitwall::history
