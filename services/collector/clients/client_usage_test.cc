#include "services/collector/clients/client_usage.h"

#include <gtest/gtest.h>

namespace pitwall::collector {
namespace {

constexpr size_t kTotal = 1000;
constexpr size_t kMessage = 100;

TEST(ClientUsageTest, Clients_AreCountedPerOwner) {
  ClientUsage usage(kTotal, kMessage);
  usage.Connect("uid:1");
  usage.Connect("uid:1");
  usage.Connect("uid:2");
  EXPECT_EQ(usage.Clients("uid:1"), 2u);
  usage.Disconnect("uid:2");
  EXPECT_EQ(usage.Clients("uid:2"), 0u);
}

TEST(ClientUsageTest, OwnerShare_IsQuarterOfMemory) {
  ClientUsage usage(kTotal, kMessage);
  usage.Connect("uid:1");
  usage.Buffer("uid:1", 250);
  EXPECT_FALSE(usage.ExceedsShare("uid:1"));
  usage.Buffer("uid:1", 1);
  EXPECT_TRUE(usage.ExceedsShare("uid:1"));
  EXPECT_FALSE(usage.ExceedsShare("uid:2"));
}

TEST(ClientUsageTest, LargeMessage_FitsShare) {
  ClientUsage usage(kTotal, 800);
  usage.Connect("uid:1");
  usage.Buffer("uid:1", 800);
  EXPECT_FALSE(usage.ExceedsShare("uid:1"));
}

TEST(ClientUsageTest, Total_CountsAllOwners) {
  ClientUsage usage(kTotal, kMessage);
  for (const char* owner : {"uid:1", "uid:2"}) {
    usage.Connect(owner);
    usage.Buffer(owner, 500);
  }
  EXPECT_FALSE(usage.ExceedsTotal());
  usage.Buffer("uid:2", 1);
  EXPECT_TRUE(usage.ExceedsTotal());
  EXPECT_EQ(usage.Largest(), "uid:2");
  usage.Buffer("uid:2", -501);
  EXPECT_FALSE(usage.ExceedsTotal());
  EXPECT_EQ(usage.Largest(), "uid:1");
}

}  // namespace
}  // namespace pitwall::collector
