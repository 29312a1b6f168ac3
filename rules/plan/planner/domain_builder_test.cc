#include "rules/plan/planner/domain_builder.h"

#include <gtest/gtest.h>

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::plan {
namespace {

using Names = std::vector<std::string>;

// Fields of a node's identity, in order. They are a persistent format: state under a changed key is
// lost on a reload.
struct Identity {
  uint8_t operation = 0;
  ValueType type = ValueType::kVector;
  double number = 0;
  bool keep_name = false;
  uint8_t binary = 0;
  bool return_bool = false;
  uint8_t set = 0;
  uint8_t aggregate = 0;
  bool without = false;
  Names grouping;
  bool on = false;
  Names matching_labels;
  uint8_t cardinality = 0;
  Names included_labels;
  FunctionId function{};
  Names strings;
  Names rest;  // parameter, demand, and inputs

  std::string Hash() const {
    BinaryWriter out;
    const auto list = [&](const Names& names) {
      out.U64(names.size());
      for (const std::string& name : names) out.Str(name);
    };
    out.U8(operation);
    out.U8(static_cast<uint8_t>(type));
    out.Double(number);
    out.Bool(keep_name);
    out.U8(binary);
    out.Bool(return_bool);
    out.U8(set);
    out.U8(aggregate);
    out.Bool(without);
    list(grouping);
    out.Bool(on);
    list(matching_labels);
    out.U8(cardinality);
    list(included_labels);
    out.U64(static_cast<uint32_t>(function));
    list(strings);
    for (const std::string& one : rest) out.Str(one);
    return StableHashHex(out.data());
  }
};

class DomainBuilderTest : public ::testing::Test {
 protected:
  NodeId AddScalar(double value) {
    return builder_.AddNode({.type = ValueType::kScalar, .operation = Number{value}});
  }
  std::string ScalarHash(double value) {
    return Identity{.type = ValueType::kScalar, .number = value}.Hash();
  }
  // Returns the key of a subquery over the node, without its step.
  std::string KeyOf(NodeId node) {
    const std::string key =
        builder_.domain().subqueries[builder_.AddSubquery(node, Duration::Nanos(7))].key;
    EXPECT_TRUE(key.ends_with("/7")) << key;
    return key.substr(0, key.size() - 2);
  }
  std::string KeyOf(Node node) { return KeyOf(builder_.AddNode(std::move(node))); }

  DomainBuilder builder_{ClockSpec()};
};

TEST_F(DomainBuilderTest, SubqueryKey_OfLeaf_IsStable) {
  EXPECT_EQ(KeyOf(AddScalar(2.5)), ScalarHash(2.5));
  EXPECT_EQ(KeyOf({.operation = EvaluationTime()}),
            (Identity{.operation = 2, .type = ValueType::kScalar}.Hash()));

  const uint32_t parameter = builder_.AddParameter({.rule = "p/g/A", .name = "limit"});
  EXPECT_EQ(
      KeyOf({.operation = ParameterValue{parameter}}),
      (Identity{.operation = 1, .type = ValueType::kScalar, .rest = {"p/g/A", "limit"}}.Hash()));

  const Selector selector;
  const Demand demand;
  DemandColumn column;
  column.ref.demand = builder_.AddDemand(selector, demand);
  column.keep_name = true;
  EXPECT_EQ(
      KeyOf({.type = ValueType::kVector, .operation = column}),
      (Identity{.operation = 3, .keep_name = true, .rest = {demand.Key(selector), ""}}.Hash()));
}

TEST_F(DomainBuilderTest, SubqueryKey_OfOperation_IsStable) {
  const NodeId a = AddScalar(1), b = AddScalar(2);
  const std::string left = ScalarHash(1), right = ScalarHash(2);
  const Matching matching{true, {"x"}, Cardinality::kManyToOne, {"y", "z"}};
  EXPECT_EQ(KeyOf({.type = ValueType::kVector, .inputs = {a}, .operation = Negation()}),
            (Identity{.operation = 4, .rest = {left}}.Hash()));
  EXPECT_EQ(KeyOf({.type = ValueType::kVector,
                   .inputs = {a, b},
                   .operation = BinaryOperation{BinaryOp::kGe, true, matching}}),
            (Identity{.operation = 5,
                      .binary = 11,
                      .return_bool = true,
                      .on = true,
                      .matching_labels = {"x"},
                      .cardinality = 1,
                      .included_labels = {"y", "z"},
                      .rest = {left, right}}
                 .Hash()));
  EXPECT_EQ(
      KeyOf({.type = ValueType::kVector,
             .inputs = {a, b},
             .operation = SetOperation{SetOp::kUnless, {.labels = {"x"}}}}),
      (Identity{.operation = 6, .set = 2, .matching_labels = {"x"}, .rest = {left, right}}.Hash()));
}

TEST_F(DomainBuilderTest, SubqueryKey_OfAggregationOrCall_IsStable) {
  const NodeId a = AddScalar(1);
  const std::string input = ScalarHash(1);
  EXPECT_EQ(KeyOf({.type = ValueType::kVector,
                   .inputs = {a},
                   .operation = Aggregation{AggregateOp::kCountValues, true, {"x"}, "v"}}),
            (Identity{.operation = 7,
                      .aggregate = 13,
                      .without = true,
                      .grouping = {"x"},
                      .strings = {"v"},
                      .rest = {input}}
                 .Hash()));
  EXPECT_EQ(KeyOf({.type = ValueType::kVector,
                   .inputs = {a},
                   .operation = Aggregation{AggregateOp::kMax, false, {"x"}}}),
            (Identity{.operation = 7, .aggregate = 3, .grouping = {"x"}, .rest = {input}}.Hash()));
  EXPECT_EQ(KeyOf({.type = ValueType::kVector,
                   .inputs = {a},
                   .operation = FunctionCall{FunctionId::kAbsent, {"s"}, {"x=1"}}}),
            (Identity{.operation = 8,
                      .included_labels = {"x=1"},
                      .function = FunctionId::kAbsent,
                      .strings = {"s"},
                      .rest = {input}}
                 .Hash()));
}

TEST_F(DomainBuilderTest, AddNode_EqualNode_ReturnsExistingNode) {
  const NodeId a = AddScalar(1);
  EXPECT_EQ(AddScalar(1), a);
  EXPECT_NE(AddScalar(2), a);
  const NodeId first = builder_.AddNode({.operation = ParameterValue{0}});
  EXPECT_EQ(builder_.AddNode({.operation = ParameterValue{0}}), first);
  EXPECT_NE(builder_.AddNode({.operation = ParameterValue{1}}), first);
}

}  // namespace
}  // namespace pitwall::plan
