// Tests that rollups read in parts equal rollups read as a whole, regardless of which series
// earlier queries cached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "services/history/ingest/testing/ingest_fixture.h"

namespace pitwall::history {
namespace {

using ::testing::IsEmpty;

// (start, min, max, sum, last, count)
using Row = std::tuple<int64_t, double, double, double, double, uint32_t>;
Row RowOf(const RollupRow& r) { return {r.start_ns, r.min, r.max, r.sum, r.last, r.count}; }
using RowsBySeries = std::map<Labels, std::vector<Row>>;

class IngestRollupsTest : public HistoryServiceTest {
 protected:
  // Sends 40 minutes of data from one rank: three metrics that every rank has, one of them with a
  // mode label, and one metric that only this rank has.
  void SendRank(int rank) {
    const std::string r = Cat(rank);
    const Schema schema = SchemaOf(1, {{{"__name__", "m_last"}, {"rank", r}},
                                       {{"__name__", "a_first"}, {"rank", r}},
                                       {{"__name__", "b"}, {"rank", r}, {"mode", "train"}},
                                       {{"__name__", Cat("own_", r)}, {"rank", r}}});
    const std::string source = Cat("rank-", r);
    for (int minute = 0; minute < 40; ++minute) {
      OwnedBatch b(source, ++sequences_[rank], rank);
      b.batch.schemas.emplace_back(schema);
      std::vector<int64_t> times;
      std::vector<double> cells;
      for (int row = 0; row < 6; ++row) {
        times.push_back(kBegin + (minute * 60 + row * 10) * kNanosPerSecond);
        for (int i = 0; i < 4; ++i) cells.push_back(static_cast<double>(random_() % 1000) / 8);
      }
      b.Rows(schema, times, cells);
      Send(b.batch);
    }
    Await();
  }
  void OpenAgain() {  // afterward, all rows are sealed
    Close();
    Open();
    records_ = events_ = 0;
  }
  SeriesQuery Query() const {
    SeriesQuery query;
    query.job = "job-1";
    query.range = {kBegin + 3 * 60 * kNanosPerSecond, kBegin + 37 * 60 * kNanosPerSecond};
    return query;
  }
  // Checks each query twice, because the cache filled by the first query must not change the
  // second.
  void ExpectPartsAsWhole(size_t ranks) {
    SeriesQuery query = Query();
    for (const bool one_metric : {false, true}) {
      if (one_metric) query.selectors = {NameIs("b")};
      for (size_t tier = 0; tier < kTiers.size(); ++tier) {
        RowsBySeries whole;
        const auto columns = history().Rollups(query, tier);
        ASSERT_TRUE(columns.ok()) << columns.status();
        for (const RollupColumn& column : *columns)
          for (const RollupRow& row : column.rows) whole[column.labels].push_back(RowOf(row));
        ASSERT_EQ(whole.size(), ranks * (one_metric ? 1 : 4));
        for (int time = 0; time < 2; ++time) {
          std::map<uint32_t, std::vector<Row>> parts;
          const auto table = history().VisitRollups(
              query, tier, [&] { parts.clear(); },
              [&](std::span<const RollupPart> some) {
                for (const RollupPart& part : some) {
                  EXPECT_FALSE(part.rows.empty());
                  for (size_t i = 0; i < part.rows.size(); ++i)
                    parts[part.series].push_back(RowOf(part.rows[i]));
                }
                return OkStatus();
              });
          ASSERT_TRUE(table.ok()) << table.status();
          RowsBySeries found;
          std::map<std::string_view, uint32_t> groups;  // by metric
          for (const auto& [series, rows] : parts) {
            const Labels& labels = (*table)->series.at(series).labels;
            found[labels] = rows;
            const uint32_t group = (*table)->groups.at(series);
            EXPECT_EQ(groups.emplace(labels.Name(), group).first->second, group);
          }
          EXPECT_EQ(found, whole) << "tier " << tier;
          EXPECT_EQ(groups.size(), one_metric ? 1 : 3 + ranks);
        }
      }
    }
  }

  std::mt19937_64 random_{11};
  std::map<int, uint64_t> sequences_;
};

TEST_F(IngestRollupsTest, PartsEqualWholeAfterRanksJoin) {
  Open();
  SendRank(0);
  SendRank(1);
  ExpectPartsAsWhole(2);
  SendRank(2);  // late rows arrive for windows that may be sealed
  ExpectPartsAsWhole(3);
  OpenAgain();
  ExpectPartsAsWhole(3);
  SendRank(3);
  ExpectPartsAsWhole(4);
  OpenAgain();
  ExpectPartsAsWhole(4);
}

TEST_F(IngestRollupsTest, SeriesLimitAppliesWithAndWithoutCache) {
  Open();
  SendRank(0);
  SendRank(1);
  OpenAgain();
  const auto visit = [&](size_t most) {
    SeriesQuery query = Query();
    query.limits.series = most;
    return history()
        .VisitRollups(
            query, kTiers.size() - 2, [] {}, [](auto) { return OkStatus(); })
        .status();
  };
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(absl::IsResourceExhausted(visit(7))) << visit(7);
    EXPECT_TRUE(visit(8).ok()) << visit(8);
  }
}

// The series that earlier queries read must not affect the result.
TEST_F(IngestRollupsTest, SeriesKindComesFromFirstSchemaInRange) {
  Open();
  const auto send = [&](SeriesKind kind, int hour) {
    Schema schema = SchemaOf(1, {{{"__name__", "m"}}, {{"__name__", "n"}}});
    schema.series[0].kind = kind;
    schema.id = SchemaId(1, schema.series);
    OwnedBatch b(Cat("source-", hour), 1);
    b.batch.schemas.emplace_back(schema);
    const int64_t first = kBegin + hour * 3600 * kNanosPerSecond;
    b.Rows(schema, {first, first + 200 * kNanosPerSecond}, {1, 2, 3, 4});
    Send(b.batch);
  };
  send(SeriesKind::kCounter, 0);
  send(SeriesKind::kGauge, 1);
  Await();
  OpenAgain();
  SeriesQuery query;
  query.job = "job-1";
  for (const int hour : {0, 1, 0, 1, 1, 0}) {
    query.range = {kBegin + hour * 3600 * kNanosPerSecond,
                   kBegin + (hour + 1) * 3600 * kNanosPerSecond};
    size_t rows = 0;
    std::map<std::string, SeriesKind> kinds;
    const auto table = history().VisitRollups(
        query, 1,
        [&] {
          rows = 0;
          kinds.clear();
        },
        [&](std::span<const RollupPart> parts) {
          for (const RollupPart& part : parts) {
            rows += part.rows.size();
            kinds.emplace(part.of->labels.Name(), part.of->kind);
          }
          return OkStatus();
        });
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(rows, 4U);
    EXPECT_EQ(kinds["m"], hour == 0 ? SeriesKind::kCounter : SeriesKind::kGauge) << hour;
    EXPECT_EQ(kinds["n"], SeriesKind::kGauge);
    EXPECT_EQ((*table)->series.size(), 2U);
  }
}

TEST_F(IngestRollupsTest, SeriesOfEarlierQueriesDoNotCountTowardLimit) {
  Open();
  for (int hour = 0; hour < 2; ++hour) {
    const Schema schema =
        SchemaOf(1, {{{"__name__", Cat("a", hour)}}, {{"__name__", Cat("b", hour)}}});
    OwnedBatch b(Cat("source-", hour), 1);
    b.batch.schemas.emplace_back(schema);
    b.Rows(schema, {kBegin + hour * 3600 * kNanosPerSecond}, {1, 2});
    Send(b.batch);
  }
  Await();
  OpenAgain();
  SeriesQuery query;
  query.job = "job-1";
  query.limits.series = 3;
  for (const int hour : {0, 1, 0}) {
    query.range = {kBegin + hour * 3600 * kNanosPerSecond,
                   kBegin + (hour + 1) * 3600 * kNanosPerSecond};
    const auto visited = history().VisitRollups(
        query, 1, [] {}, [](auto) { return OkStatus(); });
    EXPECT_TRUE(visited.ok()) << visited.status();
  }
  query.range = {kBegin, kBegin + 2 * 3600 * kNanosPerSecond};
  const auto visited = history().VisitRollups(
      query, 1, [] {}, [](auto) { return OkStatus(); });
  EXPECT_TRUE(absl::IsResourceExhausted(visited.status())) << visited.status();
}

TEST_F(IngestRollupsTest, TooManyRowsAreRejected) {
  Open();
  SendRank(0);
  OpenAgain();
  SeriesQuery query = Query();
  query.limits.rows = 67;  // 4 series with 17 two-minute rows each
  const auto visit = [&] {
    return history()
        .VisitRollups(
            query, 1, [] {}, [](auto) { return OkStatus(); })
        .status();
  };
  EXPECT_TRUE(absl::IsResourceExhausted(visit())) << visit();
  query.limits.rows = 68;
  EXPECT_TRUE(visit().ok()) << visit();
}

TEST_F(IngestRollupsTest, DeletedJob_CacheIsEmpty) {
  Open();
  SendRank(0);
  ExpectPartsAsWhole(1);
  Changed(JobChange::kEnded, kBegin + 40 * 60 * kNanosPerSecond);
  Await();
  const Status deleted = keep_->DeleteJob("job-1");
  ASSERT_TRUE(deleted.ok()) << deleted;
  const Status gone = history()
                          .VisitRollups(
                              Query(), 1, [] {}, [](auto) { return OkStatus(); })
                          .status();
  EXPECT_TRUE(absl::IsNotFound(gone)) << gone;
}

}  // namespace
}  // namespace pitwall::history
