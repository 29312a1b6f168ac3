#include "services/history/binary_fields.h"

#include <gtest/gtest.h>

namespace pitwall::history {
namespace {

struct Inner {
  double value = 0;
  std::optional<int32_t> code;
  static constexpr auto BinaryMembers() { return std::tuple(&Inner::value, &Inner::code); }
};
struct Outer {
  std::string name;
  uint64_t count = 0;
  bool flag = false;
  std::vector<int64_t> times;
  std::vector<Inner> inner;
  std::map<std::string, uint64_t> found;
  static constexpr auto BinaryMembers() {
    return std::tuple(&Outer::name, &Outer::count, &Outer::flag, &Outer::times, &Outer::inner,
                      &Outer::found);
  }
};

TEST(BinaryFields, MembersAreEncodedInOrder) {
  const Outer given = {"a", 300, true, {5, 7}, {{0.5, -3}, {1.5, std::nullopt}}, {{"r", 2}}};
  BinaryWriter fields;
  Put(given, &fields);
  BinaryWriter by_hand;
  by_hand.Str("a");
  by_hand.U64(300);
  by_hand.Bool(true);
  by_hand.I64s(given.times);
  by_hand.U64(2);
  by_hand.Double(0.5);
  by_hand.Bool(true);
  by_hand.I64(-3);
  by_hand.Double(1.5);
  by_hand.Bool(false);
  by_hand.I64(0);
  by_hand.U64(1);
  by_hand.Str("r");
  by_hand.U64(2);
  EXPECT_EQ(fields.data(), by_hand.data());
  BinaryReader in(fields.data());
  Outer back;
  Take(&in, &back);
  EXPECT_TRUE(in.Finish("outer").ok());
  BinaryWriter again;
  Put(back, &again);
  EXPECT_EQ(again.data(), fields.data());
}

TEST(BinaryFields, TruncatedBytesAreRejected) {
  const Outer given = {"a", 300, true, {5, 7}, {{0.5, -3}}, {{"r", 2}}};
  BinaryWriter fields;
  Put(given, &fields);
  for (size_t size = 0; size < fields.data().size(); ++size) {
    BinaryReader in(std::string_view(fields.data()).substr(0, size));
    Outer back;
    Take(&in, &back);
    EXPECT_FALSE(in.Finish("outer").ok()) << size;
  }
}

}  // namespace
}  // namespace pitwall::history
