#include "services/history/windows/schema_pool.h"

#include <gtest/gtest.h>

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/codec/schema_binary.h"

namespace pitwall::history {
namespace {

SharedSchema SchemaOf(uint64_t id) {
  Schema schema;
  schema.id = id;
  return SharedSchema(std::move(schema));
}

TEST(SchemaPool, KeepsFirstSchemaPerIdAndJob) {
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

TEST(SchemaPool, RenewReplacesOnlyEqualSchema) {
  SchemaPool pool;
  const SharedSchema renewed = SchemaOf(1);
  pool.Renew("job", renewed);
  EXPECT_FALSE(pool.Find("job", 1).has_value()) << "Renew does not add schemas";
  pool.Add("job", SchemaOf(1));
  pool.Renew("job", renewed);
  EXPECT_EQ(&**pool.Find("job", 1), &*renewed);
  Schema other = *renewed;
  other.series.push_back({Labels{{"__name__", "a"}}, SeriesKind::kGauge});
  pool.Renew("job", SharedSchema(std::move(other)));
  EXPECT_EQ(&**pool.Find("job", 1), &*renewed) << "same ID, other series";
}

TEST(SchemaPool, IndexesColumnsByMetric) {
  Schema schema;
  for (const char* name : {"a", "b", "a"})
    schema.series.push_back({Labels{{"__name__", name}, {"rank", "1"}}, SeriesKind::kGauge});
  schema.series.push_back({Labels{{"AAA", "before the name"}, {"__name__", "a"}}, {}});
  schema.id = 7;
  BinaryWriter bytes;
  codec::SaveSchema(schema, bytes);
  SchemaPool pool;
  EXPECT_EQ(pool.Columns("job", 7), nullptr);
  pool.Add("job", SharedSchema(std::move(schema)));
  const auto columns = pool.Columns("job", 7);
  ASSERT_NE(columns, nullptr);
  EXPECT_EQ(columns->of_metric.at("a"), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(columns->of_metric.at("b"), (std::vector<uint32_t>{1}));
  EXPECT_EQ(columns->unnamed, (std::vector<uint32_t>{3}));
  SchemaPool::Saved saved;
  ASSERT_TRUE(pool.Find("job", 7, &saved).has_value());
  EXPECT_EQ(saved.bytes, bytes.data().size());
  EXPECT_EQ(saved.crc, Crc32c(bytes.data()));
}

}  // namespace
}  // namespace pitwall::history
