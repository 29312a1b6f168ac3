#include "services/adapters/store/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "services/base/text/strings.h"

namespace pitwall::store {
namespace {

std::string DatabaseFolder(std::string_view name) {
  const std::string dir = Cat(::testing::TempDir(), "/pitwall-database-", name);
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

std::string WholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Bodies(const Database& database, uint8_t kind) {
  std::vector<std::string> out;
  EXPECT_TRUE(database
                  .ForEach(kind,
                           [&](DatabaseRow row) {
                             out.push_back(Cat(row.job, "/", row.key, "=", row.body));
                             return OkStatus();
                           })
                  .ok());
  return out;
}

TEST(DatabaseTest, StoresRowsByKindJobAndKey) {
  const std::string path = DatabaseFolder("rows") + "/catalogue.db";
  {
    auto database = Database::Open(path);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)
                    ->Apply({.removed = {},
                             .removed_jobs = {},
                             .put = {{1, "b", "2", "x"}, {1, "a", "9", ""}, {2, "a", "1", "z"}}})
                    .ok());
    ASSERT_TRUE((*database)
                    ->Apply({.removed = {{2, "a", "1", ""}, {2, "a", "missing", ""}},
                             .removed_jobs = {},
                             .put = {{1, "b", "2", "y"}}})
                    .ok());
  }
  auto database = Database::Open(path);
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_THAT(Bodies(**database, 1), ::testing::ElementsAre("a/9=", "b/2=y"));
  EXPECT_THAT(Bodies(**database, 2), ::testing::IsEmpty());
}

TEST(DatabaseTest, RowWrittenTwiceInOneChangeIsStoredOnce) {
  const std::string path = DatabaseFolder("twice") + "/catalogue.db";
  {
    auto database = Database::Open(path);
    ASSERT_TRUE(database.ok()) << database.status();
    const DatabaseChange change = {
        .removed = {},
        .removed_jobs = {},
        .put = {{1, "a", "1", "x"}, {1, "a", "2", "z"}, {1, "a", "1", "y"}}};
    ASSERT_TRUE((*database)->Apply(change).ok());
    ASSERT_TRUE((*database)->Apply(change).ok());
  }
  auto database = Database::Open(path);  // contains only its own rows
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_THAT(Bodies(**database, 1), ::testing::ElementsAre("a/1=y", "a/2=z"));
}

TEST(DatabaseTest, RemovedJobLeavesNothingInFiles) {
  const std::string path = DatabaseFolder("removed") + "/catalogue.db";
  auto database = Database::Open(path);
  ASSERT_TRUE(database.ok()) << database.status();
  DatabaseChange change;
  for (int i = 0; i < 500; ++i)
    change.put.push_back({3, i % 2 == 0 ? "job-that-goes" : "job-that-stays", Cat("k", i),
                          Cat(i % 2 == 0 ? "of-job-that-goes" : "other", std::string(200, 'x'))});
  ASSERT_TRUE((*database)->Apply(change).ok());
  ASSERT_TRUE(
      (*database)->Apply({.removed = {}, .removed_jobs = {"job-that-goes"}, .put = {}}).ok());
  ASSERT_TRUE((*database)->Settle().ok());
  EXPECT_EQ(Bodies(**database, 3).size(), 250);
  EXPECT_EQ(WholeFile(path).find("job-that-goes"), std::string::npos);
  EXPECT_EQ(WholeFile(path + "-wal").find("job-that-goes"), std::string::npos);
  EXPECT_NE(WholeFile(path).find("job-that-stays"), std::string::npos);
}

// If any bit is flipped, a read returns either the unchanged rows or DataLoss with the path.
TEST(DatabaseTest, DetectsEachRelevantFlippedBit) {
  const std::string dir = DatabaseFolder("bits");
  const std::string path = dir + "/catalogue.db";
  std::vector<std::string> whole;
  {
    auto database = Database::Open(path);
    ASSERT_TRUE(database.ok()) << database.status();
    DatabaseChange change;
    for (int i = 0; i < 40; ++i)
      change.put.push_back(
          {3, "job", Cat("k", i), std::string(100, static_cast<char>('a' + i % 26))});
    ASSERT_TRUE((*database)->Apply(change).ok());
    ASSERT_TRUE((*database)->Settle().ok());
    whole = Bodies(**database, 3);
  }
  const std::string bytes = WholeFile(path);
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    const size_t at = random() % damaged.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir);
    std::ofstream(path, std::ios::binary) << damaged;
    auto database = Database::Open(path);
    if (!database.ok()) {
      EXPECT_TRUE(absl::IsDataLoss(database.status())) << at << ": " << database.status();
      EXPECT_THAT(std::string(ToStd(database.status().message())), ::testing::HasSubstr(path));
      ++refused;
      continue;
    }
    EXPECT_EQ(Bodies(**database, 3), whole) << "bit at " << at;
  }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace pitwall::store
