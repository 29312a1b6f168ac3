#include "services/app/cli/commands.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

using testing::HasSubstr;
using testing::Not;

// Splits a command line into words as a shell does. Supports single and double quotes.
std::vector<std::string> ShellWords(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && c == ' ') {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  return words;
}

TEST(CommandsTest, EveryCommandHasSummaryUsageAndExample) {
  for (const Command& command : AllCommands()) {
    SCOPED_TRACE(command.name);
    EXPECT_FALSE(command.summary.empty());
    EXPECT_THAT(std::string(command.summary), Not(testing::EndsWith(".")));
    EXPECT_FALSE(command.usage.empty());
    EXPECT_FALSE(command.examples.empty());
    EXPECT_TRUE(command.run != nullptr);
    const std::string help = HelpOf(command);
    EXPECT_THAT(help, HasSubstr(Cat(command.summary, ".")));
    for (const std::string_view example : command.examples)
      EXPECT_THAT(help, HasSubstr(std::string(example)));
  }
}

TEST(CommandsTest, HelpListsEveryOption) {
  for (const Command& command : AllCommands()) {
    SCOPED_TRACE(command.name);
    const std::string help = HelpOf(command);
    std::set<std::string_view> names;
    for (const FlagSpec& option : ParsedOptions(command)) {
      EXPECT_THAT(help, HasSubstr(Cat("--", option.name)));
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_TRUE(names.insert(option.name).second) << option.name << " is there twice";
      EXPECT_EQ(option.value.empty(), option.kind == FlagSpec::Kind::kSwitch) << option.name;
    }
  }
}

TEST(CommandsTest, EveryExampleParses) {
  const std::vector<Command> commands = AllCommands();
  for (const Command& command : commands) {
    for (const std::string_view example : command.examples) {
      SCOPED_TRACE(std::string(example));
      std::vector<std::string> words = ShellWords(example);
      ASSERT_EQ(words[0], "pitwall");
      words.erase(words.begin());
      const Command* const found = FindCommand(commands, words);
      ASSERT_TRUE(found != nullptr);
      EXPECT_EQ(found->name, command.name);
      words.erase(words.begin(), words.begin() + 1 + (command.name.find(' ') != std::string::npos));
      const auto flags = Flags::Parse(ParsedOptions(command), words);
      ASSERT_TRUE(flags.ok()) << flags.status();
      EXPECT_GE(flags->positional().size(), command.min_arguments);
      EXPECT_LE(flags->positional().size(), command.max_arguments);
    }
  }
}

TEST(CommandsTest, OptionLinesFitTerminal) {
  for (const Command& command : AllCommands()) {
    const std::string options = FlagHelp(ParsedOptions(command));
    for (const std::string_view line : Split(options, '\n'))
      EXPECT_LE(line.size(), 104u) << command.name << ": " << line;
  }
}

TEST(CommandsTest, OverviewListsEveryCommand) {
  const std::vector<Command> commands = AllCommands();
  const std::string overview = OverviewHelp(commands);
  for (const Command& command : commands)
    EXPECT_THAT(overview, HasSubstr(Cat("  ", command.name, "  ")));
}

TEST(CommandsTest, ServiceHelp_OptionOfAnotherService_ListedAsIgnored) {
  const std::vector<Command> commands = AllCommands();
  const Command* const collector = FindCommand(commands, {"collector"});
  ASSERT_TRUE(collector != nullptr);
  const std::string help = HelpOf(*collector);
  EXPECT_THAT(help, HasSubstr("--socket-mode MODE"));
  EXPECT_THAT(help, HasSubstr("docs/configuration.md"));
  EXPECT_THAT(help, Not(HasSubstr("--webhook URL")));
  EXPECT_THAT(help, HasSubstr("have no effect here: "));
}

TEST(CommandsTest, UnknownCommandOrOption_ReturnsUsageError) {
  EXPECT_EQ(Dispatch({}), kUsage);
  EXPECT_EQ(Dispatch({"isues"}), kUsage);
  EXPECT_EQ(Dispatch({"jobs"}), kUsage);
  EXPECT_EQ(Dispatch({"jobs", "remove"}), kUsage);
  EXPECT_EQ(Dispatch({"jobs", "show"}), kUsage);
  EXPECT_EQ(Dispatch({"jobs", "show", "a", "b"}), kUsage);
  EXPECT_EQ(Dispatch({"issues", "list", "--count", "1"}), kUsage);
}

TEST(CommandsTest, Help_ReturnsSuccess) {
  EXPECT_EQ(Dispatch({"--help"}), kFine);
  EXPECT_EQ(Dispatch({"jobs", "--help"}), kFine);
  EXPECT_EQ(Dispatch({"jobs", "report", "--help"}), kFine);
  EXPECT_EQ(Dispatch({"standalone", "--help"}), kFine);
  EXPECT_EQ(Dispatch({"-h"}), kFine);
  EXPECT_EQ(Dispatch({"jobs", "-h"}), kFine);
  EXPECT_EQ(Dispatch({"backtest", "-h"}), kFine);
  EXPECT_EQ(Dispatch({"backtest", "--rules", "rules.yaml", "-h"}), kFine);
}

}  // namespace
}  // namespace pitwall
