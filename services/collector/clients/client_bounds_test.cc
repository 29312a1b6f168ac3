// Tests limits on the resources that a client can consume with arbitrary input. Any user can open
// the socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "services/base/text/strings.h"
#include "services/collector/clients/client_server.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/ranks/testing/decode.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::HasSubstr;

class ClientBoundsTest : public ::testing::Test {
 protected:
  ClientBoundsTest()
      : time_(clock_),
        bindings_({64, 0, 0, 0}),
        publisher_(PublisherOptionsOf(), clock_, &appender_, &counters_, &cursors_),
        sender_(&publisher_),
        sessions_({"n1", root_.path(), 0, 2}, &bindings_, &sender_, nullptr, time_, clock_,
                  &counters_) {}
  static PublisherOptions PublisherOptionsOf() {
    PublisherOptions options;
    options.topic = "t";
    return options;
  }
  void Hello() {
    const auto hello = HelloOf(0, clock_.WallNs());
    ASSERT_TRUE(sessions_.Handle(2, {}, hello.SerializeAsString()).ok());
  }
  // Returns the error for an update that contains `times` copies of `field`.
  std::string Refused(std::string_view field, size_t times) {
    std::string update;
    for (size_t i = 0; i < times; ++i) update += field;
    std::string length;
    for (size_t n = update.size(); n > 0 || length.empty(); n >>= 7)
      length.push_back(static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0)));
    return RefusedMessage("\x12" + length + update);
  }
  std::string RefusedMessage(const std::string& bytes) {
    const auto answer = sessions_.Handle(2, {}, bytes);
    return answer.ok() ? "" : std::string(answer.status().message());
  }
  // Returns the number of allocated bytes, or 0 with a sanitizer's allocator.
  static size_t Allocated() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  fakes::FakeAppender appender_;
  Counters counters_;
  ClientCursors cursors_;
  MonotonicEventClock time_;
  JobRegistry bindings_;
  Publisher publisher_;
  BatchSender sender_;
  ClientSessions sessions_;
};

// Each part takes 2 bytes on the wire and at least 90 bytes in memory.
TEST_F(ClientBoundsTest, TooManyParts_MessageIsRejectedBeforeParsing) {
  const std::string span("\x12\x02\x08\x03", 4);
  const std::string value("\x1a\x00", 2);
  const std::string label("\x1a\x02\x12\x00", 4);  // a label of a value
  const std::string promise("\x2a\x00", 2);
  const std::string unknown("\x78\x00", 2);
  const std::string misread("\x0a\x00", 2);  // the sequence, encoded with the wire type of a string
  for (const bool known : {false, true}) {
    for (const std::string& field : {span, value, label, promise, unknown, misread})
      EXPECT_THAT(Refused(field, 40'000),
                  HasSubstr("too many submessages and unknown fields (limit 32768"))
          << known;
    if (!known) Hello();
  }
  EXPECT_THAT(RefusedMessage("\x13\x78\x00\x14"), HasSubstr("not a ClientMessage")) << "a group";
  EXPECT_EQ(Refused(span, 30'000), "");
}

TEST_F(ClientBoundsTest, MessageMemoryIsFreedAfterHandling) {
  Hello();
  EXPECT_EQ(Refused("\x08\x01", 1), "");
  const size_t before = Allocated();
  EXPECT_THAT(Refused(std::string("\x12\x00", 2), 30'000), HasSubstr("unknown span kind"));
  EXPECT_LT(Allocated(), before + (256u << 10));
}

TEST_F(ClientBoundsTest, RejectsLargeMessageBeforeHello) {
  ServerOptions options;
  options.path = root_.At("socket");
  ClientServer server(options, &sessions_, clock_, &counters_);
  ASSERT_TRUE(server.Start().ok());
  TestClient client(options.path);
  client.SendBytes(std::string_view("\x01\x00\x01\x00", 4));
  EXPECT_TRUE(client.AwaitClosed());
  EXPECT_EQ(counters_.clients_malformed, 1u);
  TestClient good(options.path);
  good.Send(HelloOf(1, clock_.WallNs()));
  good.ReadWelcome();
  auto update = UpdateOf(1, clock_.WallNs());
  for (int i = 0; i < 10'000; ++i)
    AddSpan(&update, client::v1::SPAN_KIND_OPERATOR, "mm", clock_.WallNs(), clock_.WallNs(), 1);
  good.Send(update);
  good.Send(GoodbyeOf("completed"));
  EXPECT_TRUE(good.AwaitClosed());
  EXPECT_EQ(counters_.clients_malformed, 1u);
  server.Stop();
}

}  // namespace
}  // namespace pitwall::collector
