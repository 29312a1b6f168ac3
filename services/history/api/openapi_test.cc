// Tests that the OpenAPI file matches the handlers, that every response matches its schema, and
// that the operations of a file are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "services/history/api/answers.h"
#include "services/history/api/openapi_operations.h"
#include "services/history/api/openapi_text.h"
#include "services/history/api/testing/api_fixture.h"
#include "services/history/api/testing/schema_check.h"

namespace pitwall::history {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  const yaml::Node& NodeOf(std::string_view method, std::string_view path) const {
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
        SchemaOf(NodeOf(method, path), response.status == 200 ? "200" : "default");
    if (schema == nullptr) return {"no schema"};
    const StatusOr<yaml::Node> value =
        yaml::ParseYaml("answer", WithEscapedOverride(response.body));
    if (!value.ok()) return {std::string(ToStd(value.status().message()))};
    return check_.Check(*schema, *value);
  }

  // Returns a query with the given value and valid values for the other required parameters.
  static std::string QueryOf(const Operation& operation, std::string_view name = "",
                             std::string_view value = "") {
    const std::map<std::string, std::string, std::less<>> usual = {
        {"job", operation.method == "GET" ? "job-1" : "runs"},
        {"match", "hw_gpu_utilization_ratio"},
        {"from", "2026-01-01T00:00:40Z"},
        {"to", "2026-01-01T00:00:50Z"},
        {"rank", "1"},
        {"interval", "1s"},
        {"reason", "test"}};
    std::string query = name.empty() ? "" : Cat(name, "=", value);
    for (const ParameterRule& rule : operation.parameters) {
      if (!rule.required || rule.name == name) continue;
      const auto known = usual.find(rule.name);
      CatTo(query, query.empty() ? "" : "&", rule.name, "=",
            known == usual.end() ? "x" : known->second);
    }
    return query;
  }
  std::string Try(const Operation& operation, std::string_view name, std::string_view value) const {
    return Ask(operation.method, Cat(operation.path, "?", QueryOf(operation, name, value))).body;
  }
  // Returns the values in an error like "sort: must be one of last, name (got …)".
  static std::string ListedChoices(std::string_view error) {
    constexpr std::string_view kBegin = ": must be ";
    const size_t begin = error.find(kBegin);
    const size_t end = error.find(" (got ", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return "(none)";
    std::string_view list = error.substr(begin + kBegin.size(), end - begin - kBegin.size());
    for (const std::string_view opening : {"one of ", "one or more of "}) {
      if (StartsWith(list, opening)) list.remove_prefix(opening.size());
    }
    constexpr std::string_view kOr = ", or ";
    std::string out(list);
    if (const size_t at = out.find(kOr); at != std::string::npos) out.replace(at, kOr.size(), ", ");
    return out;
  }

  const yaml::Node document_;
  const SchemaCheck check_;
};

TEST(ApiRoutes, EveryRouteHasOneOperation) { EXPECT_EQ(CheckRoutes(), OkStatus()); }

TEST_F(OpenApi, OperationsHaveTheRolesOfTheirRoutes) {
  std::set<std::string> open, act;
  for (const http::HttpRoute& route : Routes(ApiOptions())) {
    const std::string name = Cat(route.method, " ", route.path.substr(kApiPrefix.size()));
    if (route.open) open.insert(name);
    if (route.role == Role::kAct) act.insert(name);
  }
  EXPECT_THAT(open, ElementsAre("DELETE /session", "GET /session", "POST /session"));
  EXPECT_THAT(act, ElementsAre("DELETE /job", "POST /job/archive", "POST /job/capture",
                               "POST /job/interval", "POST /job/parameter", "POST /job/stop"));
}

TEST_F(OpenApi, QueriesAboutJobsAcceptTime) {
  for (const Operation& operation : Operations()) {
    const auto has = [&](std::string_view name) {
      return std::any_of(operation.parameters.begin(), operation.parameters.end(),
                         [&](const ParameterRule& rule) { return rule.name == name; });
    };
    EXPECT_EQ(has("at"), operation.method == "GET" && has("job")) << operation.path;
  }
}

TEST_F(OpenApi, ChoicesAndRangesAreThoseOfTheHandlers) {
  FakeCaptures captures;
  options_.captures = &captures;
  options_.request_action = [](const ActionEvent&) { return OkStatus(); };
  history_.Edit("runs", [](auto*) {});
  size_t choices = 0, ranges = 0;
  for (const Operation& operation : Operations()) {
    const yaml::Node* parameters = NodeOf(operation.method, operation.path).Find("parameters");
    if (parameters == nullptr) continue;
    for (const yaml::Node& item : parameters->items()) {
      const yaml::Node& parameter = check_.Resolve(item);
      const std::string& name = parameter.Find("name")->scalar();
      const yaml::Node& outer = *parameter.Find("schema");
      const yaml::Node* items = outer.Find("items");
      const yaml::Node& schema = items == nullptr ? outer : check_.Resolve(*items);
      const std::string place = Cat("\"place\":\"", name, "\"}");
      const std::string refused = Try(operation, name, "no-such-value");
      if (schema.Find("type")->scalar() == "integer") {
        EXPECT_THAT(refused, HasSubstr(Cat(name, ": must be an integer between ",
                                           schema.Find("minimum")->scalar(), " and ",
                                           schema.Find("maximum")->scalar(), " (got ")))
            << operation.path;
        ++ranges;
      }
      if (schema.Find("enum") == nullptr) continue;
      std::vector<std::string> values;
      for (const yaml::Node& value : schema.Find("enum")->items()) {
        values.push_back(value.scalar());
        EXPECT_THAT(Try(operation, name, value.scalar()), Not(HasSubstr(place))) << operation.path;
      }
      EXPECT_THAT(refused, HasSubstr(place)) << operation.path;
      EXPECT_EQ(ListedChoices(refused), Join(values, ", ")) << operation.path << " " << name;
      const yaml::Node* usual = outer.Find("default");
      EXPECT_EQ(usual == nullptr ? values[0] : usual->scalar(), values[0]);
      ++choices;
    }
  }
  EXPECT_GT(choices, 10U);
  EXPECT_GT(ranges, 20U);
}

TEST_F(OpenApi, EveryResponseMatchesItsSchema) {
  const std::string issue = IssueId(TestIssue("default/x/Alert", EventType::kIssueFound, 1, 2));
  std::vector<std::pair<std::string, std::string>> asked = {
      {"/jobs", ""},
      {"/jobs", "limit=1&state=ended&sort=issues&order=asc&owner=uid:1000"},
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
      {"/phases", "job=job-1&last=2"},
      {"/issue", Cat("job=job-1&id=", issue)},
      {"/report", "job=job-1"},
      {"/report", "job=job-1&format=json"},
      {"/what-if", "job=job-1&rank=1"},
      {"/what-if", "job=job-1&rank=7"},
      {"/differs", "job=job-1&from=2026-01-01T00:00:40Z&to=2026-01-01T00:00:50Z"},
  };
  std::set<std::string> covered = {"/stream", "/openapi.yaml"};  // these responses are not JSON
  for (const auto& [path, query] : asked) covered.insert(path);
  for (const Operation& operation : Operations()) {
    if (operation.method == "GET" && !covered.contains(operation.path))
      asked.emplace_back(operation.path, QueryOf(operation));
  }
  for (const auto& [path, query] : asked) {
    const http::HttpResponse response = Get(Cat(path, "?", query));
    EXPECT_EQ(response.status, 200) << path << "?" << query << " " << response.body;
    EXPECT_THAT(Faults("GET", path, response), IsEmpty()) << path << "?" << query;
    // The lists must not be empty, because an empty list matches any item schema.
    EXPECT_EQ(response.body.find("[]}"), std::string::npos) << path << "?" << query;
    const http::HttpResponse unknown = Get(Cat(path, "?nonsense=1"));
    EXPECT_EQ(unknown.status, 400);
    EXPECT_THAT(Faults("GET", path, unknown), IsEmpty());
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

constexpr std::string_view kFile = R"(paths:
  /list:
    get:
      parameters:
      - {$ref: '#/components/parameters/job'}
      - {name: match, in: query, schema: {type: array, items: {type: string}}}
      - {name: topics, in: query, schema: {type: array}, explode: false}
    delete: {x-role: act}
  /session:
    post: {security: []}
components:
  parameters:
    job: {name: job, in: query, required: true, schema: {type: string}}
)";

std::string ErrorOf(std::string_view text) {
  return std::string(ToStd(ReadOperations(text).status().message()));
}

TEST(OpenApiOperations, HaveParametersInFileOrder) {
  const StatusOr<std::vector<Operation>> operations = ReadOperations(kFile);
  ASSERT_TRUE(operations.ok()) << operations.status();
  ASSERT_THAT(*operations, SizeIs(3));
  const Operation* list = FindOperation(*operations, "GET", "/list");
  ASSERT_NE(list, nullptr);
  std::vector<std::string> found;
  for (const ParameterRule& rule : list->parameters)
    found.push_back(rule.name + (rule.required ? "*" : "") + (rule.repeatable ? "+" : ""));
  EXPECT_THAT(found, ElementsAre("job*", "match+", "topics"));
  EXPECT_EQ(FindOperation(*operations, "POST", "/list"), nullptr);
  EXPECT_EQ(FindOperation(*operations, "GET", "/other"), nullptr);
}

TEST(OpenApiOperations, HaveRoles) {
  const StatusOr<std::vector<Operation>> operations = ReadOperations(kFile);
  ASSERT_TRUE(operations.ok()) << operations.status();
  const Operation& list = *FindOperation(*operations, "GET", "/list");
  EXPECT_EQ(list.role, Role::kView);
  EXPECT_FALSE(list.open);
  EXPECT_EQ(FindOperation(*operations, "DELETE", "/list")->role, Role::kAct);
  const Operation& session = *FindOperation(*operations, "POST", "/session");
  EXPECT_EQ(session.role, Role::kNone);
  EXPECT_TRUE(session.open);
}

TEST(OpenApiOperations, UnsupportedFile_ErrorNamesPosition) {
  EXPECT_THAT(ErrorOf("info: {}"), HasSubstr("paths: must be a map"));
  EXPECT_THAT(ErrorOf("paths: {/a: {put: {}}}"), HasSubstr("must be get, post, or delete"));
  EXPECT_THAT(ErrorOf("paths:\n  /a:\n    get: {x-role: admin}"),
              HasSubstr("openapi.yaml:3:19: x-role: must be act"));
  EXPECT_THAT(ErrorOf("paths: {/a: {get: {x-role: act, security: []}}}"), HasSubstr("x-role"));
  EXPECT_THAT(ErrorOf("paths: {/a: {post: {}}}"), HasSubstr("/a: post must have x-role: act"));
  EXPECT_THAT(ErrorOf("paths: {/a: {get: {security: [{token: []}]}}}"), HasSubstr("empty list"));
  EXPECT_THAT(ErrorOf("paths: {/a: {get: {parameters: [{name: b, in: header, schema: {type: "
                      "string}}]}}}"),
              HasSubstr("in: must be query"));
  EXPECT_THAT(ErrorOf("paths: {/a: {get: {parameters: [{name: b, in: query}]}}}"),
              HasSubstr("a schema with a type"));
  EXPECT_THAT(ErrorOf("paths: {/a: {get: {parameters: [{$ref: '#/components/b'}]}}}"),
              HasSubstr("$ref: not found"));
}

TEST(OpenApiOperations, MismatchWithRoutes_ErrorNamesBoth) {
  const StatusOr<std::vector<Operation>> operations = ReadOperations(kFile);
  ASSERT_TRUE(operations.ok()) << operations.status();
  const std::vector<RouteName> all = {{"GET", "/list"}, {"DELETE", "/list"}, {"POST", "/session"}};
  EXPECT_EQ(MatchRoutes(*operations, all), OkStatus());
  const std::vector<RouteName> some = {{"GET", "/list"}, {"DELETE", "/list"}, {"GET", "/more"}};
  const std::string message(ToStd(MatchRoutes(*operations, some).message()));
  EXPECT_THAT(message, HasSubstr("GET /more has a handler but no operation"));
  EXPECT_THAT(message, HasSubstr("POST /session has 0 handlers"));
  const std::vector<RouteName> twice = {all[0], all[0], all[1], all[2]};
  EXPECT_THAT(std::string(ToStd(MatchRoutes(*operations, twice).message())),
              HasSubstr("GET /list has 2 handlers"));
}

}  // namespace
}  // namespace pitwall::history
