#include "services/codec/imports/traces/trace_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::imports {
namespace {

// Returns events as "line json", members as "key=json", skipped events as "- error", "cut" for a
// truncated file, and finally the error, if any.
std::vector<std::string> Read(std::string_view text, size_t piece = 3,
                              const TraceLimits& limits = {}) {
  std::vector<std::string> read;
  lenient::SkippedRecords skipped("event");
  TraceDocument document(
      "t.json",
      [&](std::string_view json, uint32_t line) {
        read.push_back(Cat(line, " ", json));
        return json.find("bad") == std::string_view::npos ? OkStatus() : InvalidArgument("bad");
      },
      [&](std::string_view key, std::string_view json) {
        read.push_back(Cat(key, "=", json));
        return OkStatus();
      },
      [](std::string_view key) { return key != "other"; }, &skipped, limits);
  Status done;
  for (size_t at = 0; at < text.size() && done.ok(); at += piece)
    done = document.Feed(text.substr(at, piece));
  if (done.ok()) done = document.Finish();
  for (const std::string& error : skipped.first()) read.push_back(Cat("- ", error));
  if (document.cut()) read.emplace_back("cut");
  if (!done.ok()) read.emplace_back(ToStd(done.message()));
  return read;
}

using Lines = std::vector<std::string>;

TEST(TraceDocument, ReadsArraysWithAndWithoutEnd) {
  const Lines two = {"2 {\"a\":\"}],\\\"\"}", "3 {\"b\":[1,{}]}"};
  for (const std::string_view end : {"]", "", ",\n", ",]", " ] \n"}) {
    for (const size_t piece : {1, 2, 1000}) {
      EXPECT_EQ(Read(Cat("[\n{\"a\":\"}],\\\"\"},\n{\"b\":[1,{}]}", end), piece), two) << end;
    }
  }
  EXPECT_EQ(Read("[]"), Lines());
  EXPECT_EQ(Read("\xef\xbb\xbf["), Lines());
}

TEST(TraceDocument, ReadsObjectsWithUnknownMembers) {
  const std::string text =
      "{\"n\": 12, \"s\":\"a}\" ,\"other\": {\"long\": [1,2]},\n\"traceEvents\": [\n{}\n, "
      "{\"x\":1}],"
      "\"after\": true}";
  const Lines all = {"n=12", "s=\"a}\"", "3 {}", "4 {\"x\":1}", "after=true"};
  for (const size_t piece : {1, 2, 5, 1000}) EXPECT_EQ(Read(text, piece), all);
}

TEST(TraceDocument, TruncatedObject_EarlierEventsAreRead) {
  const std::string text = "{\"n\": 12,\n\"traceEvents\": [\n{}\n, {\"x\":1}],\"after\": true}";
  const size_t begin = text.find('[') + 1;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    SCOPED_TRACE(cut);
    const std::string error =
        Cat("t.json:", 1 + std::count(text.begin(), text.begin() + static_cast<long>(cut), '\n'),
            ":1: the trace is truncated");
    const Lines read = Read(std::string_view(text).substr(0, cut));
    if (cut < begin) {
      EXPECT_EQ(read.back(), error);
      continue;
    }
    EXPECT_EQ(read.back(), "cut");
    EXPECT_EQ(read[read.size() - 2], Cat("- ", error));
    if (cut <= text.find('}')) continue;
    EXPECT_EQ(read[1], "3 {}");
  }
}

TEST(TraceDocument, InvalidEvents_AreSkippedAndReportedWithLocation) {
  EXPECT_EQ(Read("[{},\n{\"bad\":1},{}]"),
            Lines({"1 {}", "2 {\"bad\":1}", "2 {}", "- t.json:2:1: bad"}));
  EXPECT_EQ(Read("[\n1,null,{}]"), Lines({"2 {}", "- t.json:2:1: event is not an object",
                                          "- t.json:2:1: event is not an object"}));
  EXPECT_EQ(Read("[{\"a\": \"0123456789\"},{}]", 3, {.event_bytes = 10}),
            Lines({"1 {}", "- t.json:1:1: event is longer than 10 bytes"}));
}

TEST(TraceDocument, AppendedEvents_AreAllRead) {
  EXPECT_EQ(Read("[{}\n{},,\n,{}]"), Lines({"1 {}", "2 {}", "3 {}"}));
  EXPECT_EQ(Read(std::string_view("[{}]\0\0\n\0", 8)), Lines({"1 {}"}));
}

TEST(TraceDocument, BrokenStructure_RestIsSkipped) {
  EXPECT_EQ(Read("[{},\n{]},{}]"), Lines({"1 {}", "- t.json:2:1: not JSON: unmatched \"]\""}));
  EXPECT_EQ(Read("{\"traceEvents\":[{} x, {}]}"),
            Lines({"1 {}", "- t.json:1:1: not JSON: a comma is missing between events", "cut"}));
  EXPECT_EQ(Read("[{}] x [{}]"), Lines({"1 {}", "- t.json:1:1: unexpected text after the trace"}));
  EXPECT_EQ(Read(Cat("[{},", std::string(100, '['))),
            Lines({"1 {}", "- t.json:1:1: nested too deeply"}));
}

TEST(TraceDocument, ErrorsIncludeLocationAndCause) {
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"", "t.json:1:1: not a trace: the file is empty"},
           {"x", "t.json:1:1: not a trace: it must begin with [ or {"},
           {"{}", "t.json:1:1: not a trace: traceEvents is missing"},
           {"[{\n\"a\":", "- t.json:2:1: the trace is truncated"},
           {"{} x", "t.json:1:1: not a trace: traceEvents is missing"},
           {"{\"traceEvents\": 1}", "t.json:1:1: traceEvents is not an array"},
           {"{\"traceEvents\": [], \"traceEvents\": []}", "t.json:1:1: traceEvents appears twice"},
           {"{a", "t.json:1:1: not JSON: a key is missing"},
           {"{\"a\" 1", "t.json:1:1: not JSON: no colon after \"a\""},
           {"{\"a\":,", "t.json:1:1: not JSON: no value after \"a\""},
           {"{\"a\":1 2", "t.json:1:1: not JSON: a comma is missing between members"}}) {
    EXPECT_EQ(Read(text).back(), error) << text;
  }
  EXPECT_EQ(Read("{\"a\": \"0123456789\"}", 3, {.event_bytes = 10}).back(),
            "t.json:1:1: member is longer than 10 bytes");
  // Unwanted members may have any length.
  EXPECT_EQ(Read("{\"other\": \"0123456789\", \"traceEvents\": []}", 3, {.event_bytes = 13}),
            Lines());
}

}  // namespace
}  // namespace pitwall::imports
