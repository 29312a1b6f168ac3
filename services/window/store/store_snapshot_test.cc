// Tests snapshots of a store between two ticks.
#include "services/window/store/store_snapshot.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

// Series may have been added since the last seal, for example if a source has just sent its first
// frame.
TEST(StoreSnapshotTest, SeriesAddedAfterLastSeal_AreRestored) {
  const std::vector<Demand> demands = {Window(WindowFunction::kSum, 60),
                                       Window(WindowFunction::kQuantile, 20), Instant(30)};
  Fixture f(demands);
  ASSERT_TRUE(f.Put(kSecond, 1).ok());
  f.Tick(2);
  for (const char* id : {"b", "c", "d"}) {
    const auto added = f.store.Intern(M(id));
    ASSERT_TRUE(added.ok());
    ASSERT_TRUE(f.store
                    .Append({At(3 * kSecond), "s", "boot", 9, 0}, std::vector<SeriesId>{*added},
                            std::vector<double>{5})
                    .ok());
  }
  const auto restored = Restored(f.store);
  EXPECT_EQ(Saved(*restored), Saved(f.store));
  restored->SealTo(At(4 * kSecond));
  restored->BeginTick(At(4 * kSecond));
  EXPECT_EQ(restored->results().Read(2).present.size(), 4u);
}

TEST(StoreSnapshotTest, LabelLimitAppliesAfterRestore) {
  const Limits limits{.max_label_bytes = 10'000};
  const auto intern = [](SeriesStore* store, std::string_view id, size_t bytes) {
    return store->Intern(M(Cat(id, std::string(bytes, 'v')))).status().code();
  };
  Fixture f({Instant(60)}, limits);
  EXPECT_EQ(intern(&f.store, "1", 4'000), absl::StatusCode::kOk);
  EXPECT_EQ(intern(&f.store, "2", 4'000), absl::StatusCode::kOk);
  EXPECT_EQ(intern(&f.store, "3", 4'000), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(intern(&f.store, "1", 4'000), absl::StatusCode::kOk);  // b is already interned
  const auto restored = Restored(f.store, limits);
  EXPECT_EQ(intern(restored.get(), "3", 4'000), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(intern(restored.get(), "4", 1'000), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace pitwall::window
