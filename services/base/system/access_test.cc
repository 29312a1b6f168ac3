#include "services/base/system/access.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

TEST(Access, EachTokenGrantsItsRole) {
  const AccessTokens tokens{.view = "look", .act = "touch"};
  EXPECT_EQ(RoleOfAuthorization(tokens, "Bearer look"), Role::kView);
  EXPECT_EQ(RoleOfAuthorization(tokens, "Bearer touch"), Role::kAct);
  for (const char* other : {"", "Bearer", "Bearer ", "Bearer loo", "Bearer look ", "Bearer looks",
                            "bearer look", "look", "Basic look", "Bearer LOOK"}) {
    EXPECT_EQ(RoleOfAuthorization(tokens, other), Role::kNone) << other;
  }
}

TEST(Access, UnconfiguredToken_GrantsNoRole) {
  for (const char* token : {"", "x"}) {
    EXPECT_EQ(RoleOfToken({}, token), Role::kNone);
    EXPECT_EQ(RoleOfToken({.view = "v", .act = ""}, token), Role::kNone);
    EXPECT_EQ(RoleOfToken({.view = "", .act = "a"}, token), Role::kNone);
  }
  EXPECT_EQ(RoleOfToken({.view = "same", .act = "same"}, "same"), Role::kAct);
}

}  // namespace
}  // namespace pitwall
