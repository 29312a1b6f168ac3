#include "services/offline/ruletest/unit_test_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pitwall::offline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GlobTest : public testing::Test {
 protected:
  GlobTest() {
    std::filesystem::create_directories(dir_ / "sub");
    for (const char* name : {"a.yaml", "b.yaml", "b1.yaml", ".hidden.yaml", "sub/c.yaml", "x[1]"})
      std::ofstream(dir_ / name) << "";
  }
  ~GlobTest() override { std::filesystem::remove_all(dir_); }

  // Returns the matching files with paths relative to the test folder.
  std::vector<std::string> Find(const std::string& pattern) {
    const auto files = Glob((dir_ / pattern).string());
    if (!files.ok()) return {"an error"};
    std::vector<std::string> out;
    for (const std::string& file : *files)
      out.push_back(std::filesystem::path(file).lexically_relative(dir_).string());
    return out;
  }
  const std::filesystem::path dir_ = std::filesystem::path(testing::TempDir()) / "pitwall_glob";
};

TEST_F(GlobTest, MatchesLikeGo) {
  EXPECT_THAT(Find("a.yaml"), ElementsAre("a.yaml"));
  EXPECT_THAT(Find("sub/../a.yaml"), ElementsAre("a.yaml"));
  EXPECT_THAT(Find("none.yaml"), IsEmpty());
  EXPECT_THAT(Find("none*"), IsEmpty());
  EXPECT_THAT(Find("*.yaml"), ElementsAre(".hidden.yaml", "a.yaml", "b.yaml", "b1.yaml"));
  EXPECT_THAT(Find("b?.yaml"), ElementsAre("b1.yaml"));
  EXPECT_THAT(Find("*/c.yaml"), ElementsAre("sub/c.yaml"));
  EXPECT_THAT(Find("[a-b].yaml"), ElementsAre("a.yaml", "b.yaml"));
  EXPECT_THAT(Find("[^a].yaml"), ElementsAre("b.yaml"));
  EXPECT_THAT(Find("x\\[1]"), ElementsAre("x[1]"));
  for (const char* broken : {"[", "[a", "[]", "[a-]", "a\\"})
    EXPECT_THAT(Find(broken), ElementsAre("an error")) << broken;
}

TEST(ExternalsTest, ExternalLabelsAndUrlAreSubstituted) {
  UnitTest test;
  test.external_labels = {{"cluster", "a \"b\""}};
  test.external_url = "http://u";
  const auto with = [&](const std::string& text) { return WithExternals(text, test); };
  EXPECT_EQ(with("in {{ $externalLabels.cluster }}!"), R"(in {{ "a \"b\"" }}!)");
  EXPECT_EQ(with("{{.ExternalLabels.cluster|toUpper}}"), R"({{"a \"b\""|toUpper}})");
  EXPECT_EQ(with("{{ $.ExternalLabels.other }}"), R"({{ "" }})");
  EXPECT_EQ(with("{{$externalURL}} {{.ExternalURL}} {{ $.ExternalURL }} {{ externalURL }}"),
            R"({{"http://u"}} {{"http://u"}} {{ "http://u" }} {{ "http://u" }})");
  EXPECT_EQ(with("{{ if eq $externalLabels.cluster \"x\" }}y{{ end }}"),
            R"({{ if eq "a \"b\"" "x" }}y{{ end }})");
  for (const char* same : {"externalURL", "{{ $labels.ExternalURL }}", "{{ .Labels.externalURL }}",
                           "{{ len $externalLabels }}", "{{ \"externalURL\" }}", "{{ broken"})
    EXPECT_EQ(with(same), same);
}

}  // namespace
}  // namespace pitwall::offline
