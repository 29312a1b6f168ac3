#include "services/insights/keep/schema_pool.h"

#include <gtest/gtest.h>

namespace pitwall::insights {
namespace {

SharedSchema SchemaOf(uint64_t id) {
  Schema schema;
  schema.id = id;
  return SharedSchema(std::move(schema));
}

TEST(SchemaPool, GivesTheFirstOfEachIdAndJob) {
  SchemaPool pool;
  const SharedSchema first = SchemaOf(1);
  pool.Add("job", first);
  pool.Add("job", SchemaOf(1));
  ASSERT_TRUE(pool.Find("job", 1).has_value());
  EXPECT_EQ(&**pool.Find("job", 1), &*first);
  EXPECT_FALSE(pool.Find("job", 2).has_value());
  EXPECT_FALSE(pool.Find("another", 1).has_value());
  pool.Add("another", SchemaOf(1));
  pool.Remove("job");
  EXPECT_FALSE(pool.Find("job", 1).has_value());
  EXPECT_TRUE(pool.Find("another", 1).has_value());
}

}  // namespace
}  // namespace pitwall::insights
