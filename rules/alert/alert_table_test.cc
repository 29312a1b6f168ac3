#include "rules/alert/alert_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pitwall::alert {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<Alert> AlertOf(std::string_view x) {
  auto alert = std::make_unique<Alert>();
  alert->labels = Labels({{"x", x}});
  alert->element = Labels({{"__name__", "m"}, {"x", x}});
  return alert;
}

void AddAll(AlertTable* table, const std::vector<std::string>& xs) {
  for (const std::string& x : xs) table->Add(AlertOf(x));
  table->Commit(/*removes=*/false, /*moved=*/false);
}

std::vector<std::string> Names(const AlertTable& table) {
  std::vector<std::string> names;
  for (const auto& alert : table.alerts()) names.emplace_back(alert->labels.Get("x"));
  return names;
}

TEST(AlertTableTest, Commit_KeepsLabelOrder) {
  AlertTable table;
  AddAll(&table, {"b", "d"});
  AddAll(&table, {"a", "c"});
  EXPECT_THAT(Names(table), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(table.Find(Labels({{"x", "c"}})), table.alerts()[2].get());
  EXPECT_EQ(table.Find(Labels({{"x", "e"}})), nullptr);
}

TEST(AlertTableTest, Commit_RemovesEndedAndCountsFiringAlerts) {
  AlertTable table;
  AddAll(&table, {"a", "b", "c"});
  table.MarkFiring(table.alerts()[0].get());
  table.MarkFiring(table.alerts()[1].get());
  EXPECT_EQ(table.firing(), 2u);
  EXPECT_EQ(table.pending(), 1u);
  table.alerts()[0]->step.fate = AlertStep::Fate::kEnd;
  table.alerts()[2]->step.fate = AlertStep::Fate::kDrop;
  table.Commit(/*removes=*/true, /*moved=*/false);
  EXPECT_THAT(Names(table), ElementsAre("b"));
  EXPECT_EQ(table.firing(), 1u);
  EXPECT_EQ(table.pending(), 0u);
}

TEST(AlertTableTest, Bind_ListsAlertsByPlace) {
  AlertTable table;
  AddAll(&table, {"a", "b", "c"});
  table.Bind(eval::LabelColumn::Of({table.alerts()[1]->element, table.alerts()[0]->element}));
  ASSERT_EQ(table.by_place().size(), 2u) << "the column does not contain c";
  EXPECT_LT(table.by_place()[0]->place, table.by_place()[1]->place);
  EXPECT_EQ(table.alerts()[2]->place, -1);
}

TEST(AlertTableTest, FirstPending_ReturnsEarliestPendingAlert) {
  AlertTable table;
  EXPECT_EQ(table.FirstPending(), nullptr);
  AddAll(&table, {"a", "b", "c"});
  for (size_t i : {0, 1, 2})
    table.alerts()[i]->active.position = Position::FromNs(30 - 10 * static_cast<int>(i));
  table.MarkFiring(table.alerts()[2].get());
  ASSERT_NE(table.FirstPending(), nullptr);
  EXPECT_EQ(table.FirstPending()->position, Position::FromNs(20));
}

TEST(AlertTableTest, Restore_UnorderedAlerts_Fails) {
  AlertTable table;
  AddAll(&table, {"a", "b"});
  table.MarkFiring(table.alerts()[1].get());
  BinaryWriter saved;
  table.Save(saved);
  AlertTable restored;
  BinaryReader in(saved.data());
  restored.Restore(in);
  ASSERT_TRUE(in.Finish("alerts").ok());
  EXPECT_THAT(Names(restored), ElementsAre("a", "b"));
  EXPECT_EQ(restored.firing(), 1u);

  std::swap(table.alerts()[0]->labels, table.alerts()[1]->labels);
  BinaryWriter damaged;
  table.Save(damaged);
  BinaryReader bad(damaged.data());
  restored.Restore(bad);
  EXPECT_FALSE(bad.ok());
}

}  // namespace
}  // namespace pitwall::alert
