#include "rules/templates/variable_scope.h"

#include <gtest/gtest.h>

namespace pitwall::templates {
namespace {

TEST(VariableScope, FindsNewestDeclaration) {
  VariableScope scope;
  ASSERT_NE(scope.Find("$labels"), nullptr);
  EXPECT_EQ(scope.Find("$labels")->slot, kLabelsSlot);
  EXPECT_EQ(scope.Find("$x"), nullptr);
  scope.Declare("$x", 20);
  scope.Declare("$x", 21);
  EXPECT_EQ(scope.Find("$x")->slot, 21U);
}

TEST(VariableScope, LeaveDropsVariablesOfBlock) {
  VariableScope scope;
  scope.Declare("$x", 20);
  const size_t entered = scope.Enter();
  scope.Declare("$x", 21);
  scope.Leave(entered);
  EXPECT_EQ(scope.Find("$x")->slot, 20U);
}

TEST(VariableScope, SeparateTemplateSeesOnlyRootVariable) {
  const VariableScope scope = VariableScope::OfSeparateTemplate();
  EXPECT_TRUE(scope.separate());
  EXPECT_EQ(scope.Find("$")->slot, kRootSlot);
  EXPECT_EQ(scope.Find("$labels"), nullptr);
}

}  // namespace
}  // namespace pitwall::templates
