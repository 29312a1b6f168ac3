#include "services/base/yaml/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/base/yaml/values.h"

namespace pitwall::yaml {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node Parse(std::string_view text) {
  StatusOr<Node> node = ParseYaml("f.yaml", text);
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *node : Node();
}

std::string Failure(std::string_view text) {
  const StatusOr<Node> node = ParseYaml("f.yaml", text);
  return node.ok() ? "(no error)" : std::string(ToStd(node.status().message()));
}

TEST(Yaml, ParsesTree) {
  const Node root = Parse("a: 1\nb:\n- x\n- 'y z'\nc: {d: ~, e: true}\n");
  ASSERT_TRUE(root.IsMap());
  ASSERT_EQ(root.entries().size(), 3U);
  EXPECT_EQ(*ToInt(*root.Find("a")), 1);
  EXPECT_THAT(*ToStrings(*root.Find("b")), ElementsAre("x", "y z"));
  EXPECT_TRUE(root.Find("c")->Find("d")->IsNull());
  EXPECT_TRUE(*ToBool(*root.Find("c")->Find("e")));
  EXPECT_EQ(root.Find("zzz"), nullptr);
  EXPECT_EQ(root.entries()[1].key_position, (Position{2, 1}));
  EXPECT_EQ(root.Find("b")->items()[1].position(), (Position{4, 3}));
  EXPECT_TRUE(Parse("").IsNull());
  EXPECT_TRUE(Parse("# nothing\n").IsNull());
  EXPECT_TRUE(Node().IsNull());
}

TEST(Yaml, ColumnsCountCharacters) {
  const Node root = Parse("größe: {wert: 5}\n");
  EXPECT_EQ(root.Find("größe")->position(), (Position{1, 8}));
}

TEST(Yaml, ByteOrderMarkIsSkipped) {
  EXPECT_EQ(Parse("\xef\xbb\xbfkey: v\n").Find("key")->position(), (Position{1, 6}));
}

TEST(Yaml, RejectsUnsupportedYaml) {
  EXPECT_EQ(Failure("a: 1\na: 2\n"), "f.yaml:2:1: key \"a\" is a duplicate");
  EXPECT_EQ(Failure("a: 1\n---\nb: 2\n"), "f.yaml:2:1: only one document is allowed in a file");
  EXPECT_EQ(Failure("{[1]: 2}"), "f.yaml:1:2: a key must be a string");
  EXPECT_EQ(Failure("a: !secret x"), "f.yaml:1:4: tag \"!secret\" is not supported");
  EXPECT_EQ(Failure("a: b\n  c: d\n"), "f.yaml:2:4: illegal map value");
  EXPECT_EQ(Failure("a: [1, 2"), "f.yaml:1:9: end of sequence flow not found");
  EXPECT_EQ(Failure("a: \x01"), "f.yaml:1:4: control character");
  EXPECT_EQ(Failure("a: x\xc2\x9b"), "f.yaml:1:5: control character");
  EXPECT_EQ(Failure("a: ä\nb: \xe2\x80\xae"), "f.yaml:2:4: control character");
  EXPECT_EQ(Failure("a: \"ä → 東京 𝄞\""), "(no error)");
  EXPECT_EQ(Failure("a: \xff"), "f.yaml:1:4: not valid UTF-8");
  EXPECT_EQ(Failure("a: *missing"), "f.yaml:1:4: the referenced anchor is not defined");
  EXPECT_EQ(Failure("a: &x [1, *x]"), "f.yaml:1:11: an alias must not refer to its own anchor");
  EXPECT_THAT(Failure(std::string(kMaxFileBytes + 1, '#')),
              HasSubstr("the limit is 1048576 bytes"));
  EXPECT_THAT(Failure(std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(Failure(std::string(100'000, '[')), HasSubstr("f.yaml:1:1: "));
  std::string bullets;
  for (int i = 0; i < 1000; ++i) bullets += "- ";
  EXPECT_THAT(Failure(bullets), HasSubstr("nested deeper than 64 levels"));
}

TEST(Yaml, AliasesAreSharedAndCounted) {
  const Node root = Parse("a: &x {k: v}\nb: *x\n");
  EXPECT_EQ(root.Find("b")->Find("k")->scalar(), "v");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    CatTo(bomb, "a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) CatTo(bomb, k > 0 ? ", " : "", "*a", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(Failure(bomb), HasSubstr("more than 200000 values (aliases expanded)"));
}

TEST(Yaml, AppliesMergeKeys) {
  const Node root = Parse(
      "base: &b {x: 1, y: 2}\nother: &o {y: 7, z: 3}\none: {<<: *b, y: 9}\nmany: {<<: [*b, *o]}\n"
      "quoted: {\"<<\": 1}\n");
  EXPECT_EQ(root.Find("one")->Find("x")->scalar(), "1");
  EXPECT_EQ(root.Find("one")->Find("y")->scalar(), "9");
  EXPECT_EQ(root.Find("many")->Find("y")->scalar(), "2");
  EXPECT_EQ(root.Find("many")->Find("z")->scalar(), "3");
  EXPECT_NE(root.Find("quoted")->Find("<<"), nullptr);
  EXPECT_EQ(Failure("a: {<<: 5}"), "f.yaml:1:4: << must refer to a map, found a string");
}

TEST(Yaml, TypedAccessorsReportPosition) {
  const Node root = Parse("i: 12\nq: \"12\"\nd: 1.5e3\ninf: .inf\nt: 1h30m\nb: yes\nl: [1]\n");
  EXPECT_EQ(*ToNumber(*root.Find("d")), 1500);
  EXPECT_TRUE(std::isinf(*ToNumber(*root.Find("inf"))));
  EXPECT_EQ(*ToDuration(*root.Find("t")), 5'400'000'000'000);
  EXPECT_EQ(ToInt(*root.Find("q")).status().message(),
            "f.yaml:2:4: expected an integer, found \"12\"");
  EXPECT_EQ(ToBool(*root.Find("b")).status().message(),
            "f.yaml:6:4: expected true or false, found \"yes\"");
  EXPECT_EQ(ToString(*root.Find("l")).status().message(),
            "f.yaml:7:4: expected a string, found a list");
  EXPECT_THAT(std::string(ToStd(ToDuration(*root.Find("d")).status().message())),
              HasSubstr("f.yaml:3:4: not a valid duration: \"1.5e3\""));
}

TEST(Yaml, StrictMapCollectsProblems) {
  const Node root = Parse("name: x\nlimit: many\nintervall: 5s\nlabels: {a: [1]}\nnothing:\n");
  std::vector<Problem> problems;
  StrictMap map(root, "a group", &problems);
  EXPECT_EQ(map.String("name"), "x");
  EXPECT_EQ(map.Int("limit", 0, 10), std::nullopt);
  EXPECT_EQ(map.Duration("interval"), std::nullopt);
  EXPECT_TRUE(map.Scalars("labels").empty());
  EXPECT_EQ(map.String("nothing"), std::nullopt);
  map.Finish();
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].what, "\"limit\": expected an integer, found \"many\"");
  EXPECT_EQ(problems[1].what, "\"a\": expected a string, found a list");
  EXPECT_EQ(problems[2].what, "unknown key \"intervall\" in a group (did you mean \"interval\"?)");
  EXPECT_EQ(problems[2].position, (Position{3, 1}));
  EXPECT_THAT(std::string(ToStd(ToStatus(root, problems).message())),
              HasSubstr("f.yaml:3:1: unknown key"));

  std::vector<Problem> list_problems;
  StrictMap list(Parse("[1]"), "a group", &list_problems);
  list.Finish();
  ASSERT_EQ(list_problems.size(), 1U);
  EXPECT_EQ(list_problems[0].what, "a group must be a map, found a list");
}

// Expected file position of a marked byte in a scalar.
struct Place {
  std::string_view text;
  char byte;
  Position position;
};

TEST(Yaml, ScalarOffsetsCoverEveryStyle) {
  const Place kPlaces[] = {
      {"k: a + Z", 'Z', {1, 8}},
      {"k: &anchor a + Z", 'Z', {1, 16}},
      {"k: !!str\n  a + Z", 'Z', {2, 7}},
      {"k: a +\n   b +\n\n   Z", 'Z', {4, 4}},
      {"k: |\n  a\n    + Z\n", 'Z', {3, 7}},
      {"k: |2-\n    a\n  Z\n", 'Z', {3, 3}},
      {"k: |  # why\n\n\n  a\n  Z", 'Z', {5, 3}},
      {"k: >-\n  a\n  b\n\n  Z\n", 'Z', {5, 3}},
      {"k: >\n  a\n    indented\n  Z\n", 'Z', {4, 3}},
      {"k: |\r\n  a\r\n  Z\r\n", 'Z', {3, 3}},
      {"k: 'it''s Z'", 'Z', {1, 11}},
      {"k: \"a\\tb \\u00e9\\x41 Z\"", 'Z', {1, 21}},
      {"k: \"a \\\n   b \\\"Z\"", 'Z', {2, 8}},
      {"k: \"a\n\n  é Z\"", 'Z', {3, 5}},
      {"- - k: |\n      x\n      y Z\n", 'Z', {3, 9}},
  };
  for (const Place& place : kPlaces) {
    SCOPED_TRACE(place.text);
    Node node = Parse(place.text);
    while (!node.IsScalar()) node = node.IsMap() ? *node.Find("k") : node.items()[0];
    const std::vector<uint32_t> offsets = node.ScalarOffsets();
    ASSERT_EQ(offsets.size(), node.scalar().size() + 1);
    const size_t at = node.scalar().find(place.byte);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(node.file()->text()[offsets[at]], place.byte);
    EXPECT_EQ(node.file()->Locate(offsets[at]), place.position);
  }
}

TEST(FileText, FindsLines) {
  const FileText file("f", "one\r\ntwo\n\nfour");
  EXPECT_EQ(file.Line(1), "one");
  EXPECT_EQ(file.Line(2), "two");
  EXPECT_EQ(file.Line(3), "");
  EXPECT_EQ(file.Line(4), "four");
  EXPECT_EQ(file.Line(5), "");
  EXPECT_EQ(file.Locate(5), (Position{2, 1}));
  EXPECT_EQ(file.Locate(1000), (Position{4, 5}));
}

TEST(FileText, FindsInvalidUtf8) {
  EXPECT_EQ(FindInvalidUtf8("aé€😀"), std::string_view::npos);
  EXPECT_EQ(FindInvalidUtf8("a\xc0\x80"), 1U);       // overlong
  EXPECT_EQ(FindInvalidUtf8("ab\xed\xa0\x80"), 2U);  // surrogate
  EXPECT_EQ(FindInvalidUtf8("\xe2\x82"), 0U);        // truncated
}

}  // namespace
}  // namespace pitwall::yaml
