#include "services/app/cli/history/query_text.h"

#include <gtest/gtest.h>

namespace pitwall::history_client {
namespace {

StatusOr<std::string> Table(const char* data, bool points = false) {
  return QueryTable(Json::parse(data), points);
}

TEST(QueryText, QueryTable_Vector_HasOneLinePerSeries) {
  const auto table = Table(R"({"resultType":"vector","result":[
      {"metric":{"__name__":"x","rank":"0"},"value":[1.5,"0.25"]},
      {"metric":{},"value":[1.5,"NaN"]},{"metric":{"a":"q\"q"},"value":[1.5,"-Inf"]}]})");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table, "0.25  x{rank=\"0\"}\n NaN  {}\n-Inf  {a=\"q\\\"q\"}\n");
}

TEST(QueryText, QueryTable_Matrix_IsSummarizedOrListed) {
  const char* data = R"({"resultType":"matrix","result":[{"metric":{"__name__":"x"},
      "values":[[0,"1"],[0.5,"3"],[1,"NaN"],[2,"2"]]}]})";
  EXPECT_EQ(*Table(data),
            "points  least  mean  greatest  last  series\n"
            "     4      1     2         3     2  x\n");
  EXPECT_EQ(*Table(data, true),
            "x\n  1970-01-01 00:00:00  1\n  1970-01-01 00:00:00.500  3\n"
            "  1970-01-01 00:00:01  NaN\n  1970-01-01 00:00:02  2\n");
}

TEST(QueryText, QueryTable_ScalarOrString_PrintsValue) {
  EXPECT_EQ(*Table(R"({"resultType":"scalar","result":[3,"4.5"]})"), "4.5\n");
  EXPECT_EQ(*Table(R"({"resultType":"string","result":[3,"hello"]})"), "hello\n");
}

TEST(QueryText, QueryData_OtherFormat_Fails) {
  EXPECT_FALSE(QueryData(Json::parse(R"({"status":"success"})")).ok());
  EXPECT_FALSE(QueryData(Json::parse("[1]")).ok());
  EXPECT_TRUE(
      QueryData(Json::parse(R"({"status":"success","data":{"resultType":"vector","result":[]}})"))
          .ok());
  EXPECT_FALSE(Table(R"({"resultType":"vector","result":[{"value":[1,2]}]})").ok());
  EXPECT_FALSE(Table(R"({"resultType":"matrix","result":[{"values":[["a","1"]]}]})").ok());
  EXPECT_FALSE(Table(R"({"resultType":"tensor","result":[]})").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      CurvesOf(Json::parse(R"({"resultType":"vector","result":[]})")).status()));
}

}  // namespace
}  // namespace pitwall::history_client
