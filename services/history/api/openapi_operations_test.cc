#include "services/history/api/openapi_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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
