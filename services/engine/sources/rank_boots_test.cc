#include "services/engine/sources/rank_boots.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "services/base/text/strings.h"

namespace pitwall::engine {
namespace {

// Computes the expected result by scanning all sources.
std::vector<Source*> Walk(const Source& source, const SourceMap& sources) {
  std::vector<Source*> others;
  for (const auto& [key, other] : sources) {
    const bool same_rank =
        source.IsRank() && other->IsRank() && other->info.rank == source.info.rank;
    if (other.get() != &source && (same_rank || other->id == source.id))
      others.push_back(other.get());
  }
  return others;
}

TEST(RankBoots, MatchesFullScan) {
  SCOPED_TRACE("seed 11");
  std::mt19937_64 random(11);
  RankBoots boots;
  SourceMap sources;
  size_t met = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto source = std::make_unique<Source>();
    // The data contains IDs that are prefixes of other IDs, empty boots, and several sources with
    // the same rank.
    source->id = Cat("rank-", random() % 12);
    source->boot = random() % 4 == 0 ? "" : Cat("b", random() % 6);
    source->info.kind = random() % 5 == 0 ? SourceKind::kNode : SourceKind::kRank;
    source->info.rank = static_cast<int64_t>(random() % 9) - 1;
    const std::pair key(source->id, source->boot);
    if (const auto it = sources.find(key); it != sources.end()) {
      if (random() % 2 == 0) {
        boots.Remove(it->second.get());
        sources.erase(it);
      }
    } else {
      Source* added = source.get();
      sources.emplace(key, std::move(source));
      boots.Add(added);
    }
    for (const auto& [other_key, other] : sources) {
      if (random() % 8 != 0) continue;
      const std::vector<Source*> others = boots.OthersOf(*other, sources);
      ASSERT_EQ(others, Walk(*other, sources));
      met += others.size();
    }
    if (random() % 4000 == 0) {
      boots.Clear();
      sources.clear();
    }
  }
  EXPECT_GT(met, 10'000U);
}

}  // namespace
}  // namespace pitwall::engine
