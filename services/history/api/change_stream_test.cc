// Tests for server-sent events, and for sessions on a real server.
#include "services/history/api/change_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/adapters/http/testing/raw_socket.h"
#include "services/history/api/testing/api_fixture.h"

namespace pitwall::history {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Change SamplesOf(std::string job, double second = 1) {
  Change change;
  change.job = std::move(job);
  change.time_ns = AtSecond(second);
  return change;
}

Change IssueOf(std::string job) {
  Change change;
  change.topic = Change::Topic::kIssue;
  change.job = job;
  auto event =
      std::make_shared<IssueEvent>(TestIssue("default/x/Alert", EventType::kIssueFound, 1, 2));
  event->job = std::move(job);
  change.event = std::move(event);
  return change;
}

// Returns "id:event" for each event in the text.
std::vector<std::string> EventsIn(std::string_view text) {
  std::vector<std::string> out;
  std::string_view id;
  for (const std::string_view line : Split(text, '\n')) {
    if (StartsWith(line, "id: ")) id = line.substr(4);
    if (StartsWith(line, "event: ")) out.push_back(Cat(id, ":", line.substr(7)));
  }
  return out;
}

class Stream : public ::testing::Test {
 protected:
  ChangeStream Open(ChangeFilter filter = {}, uint64_t place = 0) {
    return ChangeStream(&history_, &clock_, std::move(filter), place);
  }
  void Later(int64_t ns) { clock_.Advance(ns); }
  VectorHistory history_{8};  // the history keeps at most eight changes
  fakes::FakeClock clock_;
};

TEST_F(Stream, WithoutChanges_SendsOnlyPosition) {
  history_.Publish(IssueOf("a"));
  ChangeStream stream = Open({}, history_.newest_place());
  EXPECT_EQ(stream.Pull(), "retry: 2000\nid: 1\n\n");
  EXPECT_EQ(stream.Pull(), "");
}

TEST_F(Stream, SendsChangesInOrderWithPositions) {
  ChangeStream stream = Open();
  stream.Pull();
  history_.Publish(IssueOf("a"));
  history_.Publish(IssueOf("b"));
  const std::string text = stream.Pull();
  EXPECT_THAT(EventsIn(text), ::testing::ElementsAre("1:issue", "2:issue"));
  EXPECT_THAT(text, HasSubstr("data: {\"job\":\"a\",\"time_ns\":\"0\",\"event\":{\"specversion\""));
  // An event is one line of data, regardless of the characters in its text.
  for (const std::string_view line : Split(text, '\n')) {
    EXPECT_TRUE(line.empty() || StartsWith(line, "id: ") || StartsWith(line, "event: ") ||
                StartsWith(line, "data: {"))
        << line.substr(0, 80);
  }
  EXPECT_EQ(stream.Pull(), "");
}

TEST_F(Stream, SendsNewestSampleTimeTwicePerSecond) {
  ChangeStream stream = Open();
  stream.Pull();
  for (int i = 0; i < 3; ++i) history_.Publish(SamplesOf("a", i));
  history_.Publish(SamplesOf("b"));
  EXPECT_EQ(stream.Pull(), "");
  Later(ChangeStream::kSamplesEveryNs);
  const std::string text = stream.Pull();
  EXPECT_THAT(EventsIn(text), ::testing::ElementsAre("3:samples", "4:samples"));
  EXPECT_THAT(text, HasSubstr(Cat("\"time_ns\":\"", AtSecond(2), "\",\"event\":null")));
  // IDs must increase, so delayed sample times are sent before later changes.
  history_.Publish(SamplesOf("a"));
  history_.Publish(IssueOf("a"));
  EXPECT_THAT(EventsIn(stream.Pull()), ::testing::ElementsAre("5:samples", "6:issue"));
}

TEST_F(Stream, FiltersByJobAndTopic) {
  ChangeFilter filter;
  filter.jobs = {"a"};
  filter.topics = {Change::Topic::kIssue};
  ChangeStream stream = Open(filter);
  stream.Pull();
  history_.Publish(IssueOf("b"));
  history_.Publish(SamplesOf("a"));
  history_.Publish(IssueOf("a"));
  Later(kNanosPerSecond);
  EXPECT_THAT(EventsIn(stream.Pull()), ::testing::ElementsAre("3:issue"));
}

TEST_F(Stream, ResumesWithoutLossOrDuplicates) {
  for (int i = 0; i < 6; ++i) history_.Publish(IssueOf("a"));
  ChangeStream stream = Open({}, 4);
  EXPECT_THAT(EventsIn(stream.Pull()), ::testing::ElementsAre("5:issue", "6:issue"));
}

TEST_F(Stream, ChangesWereDropped_SendsResync) {
  ChangeStream stream = Open();
  stream.Pull();
  for (int i = 0; i < 9; ++i) history_.Publish(IssueOf("a"));  // the feed keeps only eight changes
  EXPECT_THAT(EventsIn(stream.Pull()), ::testing::ElementsAre("9:resync"));
  history_.Publish(IssueOf("a"));
  EXPECT_THAT(EventsIn(stream.Pull()), ::testing::ElementsAre("10:issue"));
  // The position belongs to a different history.
  ChangeStream other = Open({}, 4711);
  EXPECT_THAT(EventsIn(other.Pull()), ::testing::ElementsAre("10:resync"));
}

TEST_F(Stream, NoChanges_SendsKeepAliveWithPosition) {
  ChangeFilter filter;
  filter.jobs = {"a"};
  ChangeStream stream = Open(filter);
  stream.Pull();
  history_.Publish(IssueOf("b"));  // the change is filtered out but advances the position
  EXPECT_EQ(stream.Pull(), "");
  Later(ChangeStream::kHeartbeatNs - 1);
  EXPECT_EQ(stream.Pull(), "");
  Later(1);
  EXPECT_EQ(stream.Pull(), ": still here\nid: 1\n\n");
  EXPECT_EQ(stream.Pull(), "");
}

TEST_F(Stream, PullSizeIsBounded) {
  VectorHistory big(1000);
  for (int i = 0; i < 100; ++i) big.Publish(IssueOf("a"));  // each issue has 10 kB of text
  ChangeStream stream(&big, &clock_, {}, 0);
  size_t events = 0, pulls = 0;
  for (std::string text = stream.Pull(); !text.empty(); text = stream.Pull(), ++pulls) {
    EXPECT_LE(text.size(), ChangeStream::kMaxBytes + 32'000);
    events += EventsIn(text).size();
  }
  EXPECT_EQ(events, 100U);
  EXPECT_GT(pulls, 10U);
}

class Served : public ApiTest {
 protected:
  Served() {
    http::HttpServerOptions options;
    options.access.tokens = options_.tokens;
    options.access.sessions = options_.sessions;
    options.timeouts.stream_pause_ns = 2'000'000;
    server_ = *http::HttpServer::Start(options, Routes(options_));
  }
  http::RawSocket Send(std::string_view line, std::string_view headers,
                       std::string_view body = "") const {
    http::RawSocket socket = http::RawSocket::Connect(server_->port());
    EXPECT_TRUE(socket.Send(Cat(line, " HTTP/1.1\r\nHost: ", Host(), "\r\nContent-Length: ",
                                body.size(), "\r\n", headers, "\r\n", body)));
    return socket;
  }
  std::string Ask(std::string_view line, std::string_view headers,
                  std::string_view body = "") const {
    return Send(line, Cat("Connection: close\r\n", headers), body).ReadAll();
  }
  std::string Host() const { return Cat("127.0.0.1:", server_->port()); }
  std::string Own() const { return Cat("Origin: http://", Host(), "\r\n"); }
  // Signs in and returns "Cookie: …", the header for subsequent requests.
  std::string Login(std::string_view token) const {
    const std::string answer =
        Ask("POST /api/pitwall/v1/session", Own(), Cat("{\"token\": \"", token, "\"}"));
    const size_t at = answer.find("Set-Cookie: ");
    EXPECT_NE(at, std::string::npos) << answer;
    if (at == std::string::npos) return "";
    const std::string line = answer.substr(at + 12, answer.find("\r\n", at) - at - 12);
    EXPECT_THAT(line, HasSubstr("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"));
    return Cat("Cookie: ", line.substr(0, line.find(';')), "\r\n");
  }
  std::unique_ptr<http::HttpServer> server_;
};

TEST_F(Served, SessionAllowsViewingActingAndSigningOut) {
  EXPECT_THAT(Ask("GET /api/pitwall/v1/jobs", ""), HasSubstr(" 401 "));
  EXPECT_THAT(Ask("GET /api/pitwall/v1/session", ""), HasSubstr("\"role\":\"none\""));
  const std::string view = Login("see"), act = Login("do");
  EXPECT_THAT(Ask("GET /api/pitwall/v1/jobs", view), HasSubstr(" 200 "));
  EXPECT_THAT(Ask("GET /api/pitwall/v1/session", view), HasSubstr("\"role\":\"view\""));
  EXPECT_THAT(Ask("GET /api/pitwall/v1/session", act),
              HasSubstr("\"role\":\"act\",\"can_change\":true"));
  constexpr std::string_view kDelete = "DELETE /api/pitwall/v1/job?job=job-1";
  EXPECT_THAT(Ask(kDelete, view + Own()), HasSubstr(" 403 "));
  EXPECT_THAT(Ask(kDelete, act + "Origin: http://evil.example\r\n"), HasSubstr(" 403 "));
  EXPECT_THAT(Ask(kDelete, act), HasSubstr(" 401 "));  // without an Origin header
  EXPECT_THAT(Ask(kDelete, act + Own()), HasSubstr(" 200 "));
  EXPECT_THAT(Ask("DELETE /api/pitwall/v1/session", view + Own()), HasSubstr("Max-Age=0"));
  EXPECT_THAT(Ask("GET /api/pitwall/v1/jobs", view), HasSubstr(" 401 "));
  EXPECT_THAT(Ask("GET /api/pitwall/v1/jobs", act), HasSubstr(" 200 "));
  clock_.Advance(int64_t{12} * 3600 * kNanosPerSecond);
  EXPECT_THAT(Ask("GET /api/pitwall/v1/jobs", act), HasSubstr(" 401 "));
}

TEST_F(Served, WrongTokenOrOrigin_IsRejected) {
  const auto login = [&](std::string_view headers, std::string_view body) {
    return Ask("POST /api/pitwall/v1/session", headers, body);
  };
  const std::string wrong = login(Own(), R"({"token": "s3cret-but-wrong"})");
  EXPECT_THAT(wrong, HasSubstr(" 401 "));
  EXPECT_THAT(wrong, Not(HasSubstr("s3cret-but-wrong")));
  EXPECT_THAT(wrong, Not(HasSubstr("Set-Cookie")));
  EXPECT_THAT(login("Origin: http://evil.example\r\n", R"({"token": "see"})"), HasSubstr(" 403 "));
  for (const std::string_view body : {"", "{}", "see", R"({"token": 7})", R"({"token": ""})"})
    EXPECT_THAT(login(Own(), body), HasSubstr(" 400 ")) << body;
  EXPECT_THAT(login("Authorization: Bearer see\r\n", ""), HasSubstr(" 200 "));
}

TEST_F(Served, StreamsChanges) {
  const http::RawSocket socket =
      Send("GET /api/pitwall/v1/stream?jobs=job-1&topics=issue", "Authorization: Bearer see\r\n");
  const std::string header = socket.ReadUntil("\r\n\r\n");
  EXPECT_THAT(header, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(header, HasSubstr("Cache-Control: no-store, no-transform\r\n"));
  EXPECT_THAT(header, HasSubstr("X-Accel-Buffering: no\r\n"));
  EXPECT_THAT(socket.ReadUntil("id: 0\n\n"), HasSubstr("retry: 2000\n"));
  history_.Publish(IssueOf("other"));
  history_.Publish(IssueOf("job-1"));
  EXPECT_THAT(socket.ReadUntil("event: issue\n"), HasSubstr("id: 2\n"));
  // Another client resumes from that position.
  const http::RawSocket again =
      Send("GET /api/pitwall/v1/stream", "Authorization: Bearer see\r\nLast-Event-ID: 1\r\n");
  EXPECT_THAT(again.ReadUntil("event: issue\n"), HasSubstr("id: 2\n"));
  server_->Stop();
  EXPECT_THAT(again.ReadAll(), HasSubstr("event: bye\n"));
}

}  // namespace
}  // namespace pitwall::history
