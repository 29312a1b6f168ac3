#include "services/app/command/flags.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using testing::HasSubstr;

const std::vector<FlagSpec>& Specs() {
  static const std::vector<FlagSpec> specs = {
      {"rules", Kind::kMany, "FILE", "rule files", "pack:default"},
      {"output", Kind::kOne, "FILE", "file to write", "", "o"},
      {"json", Kind::kSwitch, "", "print JSON"}};
  return specs;
}

std::string Problem(const std::vector<std::string>& arguments) {
  return std::string(Flags::Parse(Specs(), arguments).status().message());
}

TEST(FlagsTest, Parse_EveryKind_KeepsValuesAndArguments) {
  const auto flags = Flags::Parse(
      Specs(), {"x", "--rules", "a", "b", "--json", "--output=c", "--rules", "d", "--", "-5m"});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(flags->Many("rules"), (std::vector<std::string>{
                                      "a",
                                      "b",
                                      "d",
                                  }));
  EXPECT_EQ(flags->One("output"), "c");
  EXPECT_TRUE(flags->Has("json"));
  EXPECT_EQ(flags->positional(), (std::vector<std::string>{"x", "--", "-5m"}));
}

TEST(FlagsTest, Parse_ShortName_SetsOption) {
  const auto flags = Flags::Parse(Specs(), {"-o", "f", "x"});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(flags->One("output"), "f");
  EXPECT_EQ(flags->positional(), std::vector<std::string>{"x"});
}

TEST(FlagsTest, Parse_InvalidOption_NamesCauseAndFix) {
  EXPECT_EQ(Problem({"--rulse", "a"}), "--rulse: unknown option; did you mean --rules?");
  EXPECT_EQ(Problem({"--output"}), "--output: value is missing; specify --output FILE");
  EXPECT_EQ(Problem({"--json=1"}), "--json: takes no value (got \"1\"); specify --json");
}

TEST(FlagsTest, SetDefault_OptionGiven_KeepsValue) {
  auto flags = Flags::Parse(Specs(), {"--output", "a"});
  ASSERT_TRUE(flags.ok());
  flags->SetDefault("output", "b");
  flags->SetDefault("rules", "c");
  EXPECT_EQ(flags->One("output"), "a");
  EXPECT_EQ(flags->Many("rules"), std::vector<std::string>{"c"});
}

TEST(FlagsTest, FlagHelp_LongText_IsWrappedAndAligned) {
  EXPECT_EQ(FlagHelp(Specs()),
            "  --rules FILE…             rule files (default: pack:default)\n"
            "  -o, --output FILE         file to write\n"
            "  --json                    print JSON\n");
  std::string text;
  for (int i = 0; i < 30; ++i) text += "word ";
  const std::string help = FlagHelp({{"a", Kind::kSwitch, "", text + "end"}});
  EXPECT_THAT(help, HasSubstr("word\n                            word"));
}

}  // namespace
}  // namespace pitwall
