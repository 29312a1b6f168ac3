#include "services/collector/clients/written_notices.h"

#include <gtest/gtest.h>

#include "pitwall/client/v1/client.pb.h"

namespace pitwall::collector {
namespace {

class WrittenNoticesTest : public ::testing::Test {
 protected:
  void Advance(uint64_t written) {
    ClientCursor cursor;
    cursor.job = "job-1";
    cursor.source = "rank-0@n1";
    cursor.boot_id = "b";
    cursor.received = cursor.written = cursor.batch = written;
    cursors_.Advance(EncodeCursor(cursor));
  }
  std::vector<uint64_t> Take() {
    std::vector<std::pair<uint64_t, std::string>> messages;
    notices_.Take(cursors_, &messages);
    std::vector<uint64_t> positions;
    for (const auto& [client, bytes] : messages) {
      client::v1::CollectorMessage message;
      EXPECT_TRUE(message.ParseFromString(bytes));
      EXPECT_EQ(client, 3u);
      positions.push_back(message.written().sequence());
    }
    return positions;
  }

  const SourceBoot boot_{"job-1", "rank-0@n1", "b"};
  ClientCursors cursors_;
  WrittenNotices notices_;
};

TEST_F(WrittenNoticesTest, EachPosition_IsReportedOnce) {
  notices_.Expect(3, boot_, 0);
  Advance(4);
  EXPECT_EQ(Take(), std::vector<uint64_t>{4});
  EXPECT_TRUE(Take().empty());
  Advance(6);
  EXPECT_EQ(Take(), std::vector<uint64_t>{6});
}

TEST_F(WrittenNoticesTest, PositionInWelcome_IsNotReportedAgain) {
  notices_.Expect(3, boot_, 4);
  Advance(4);
  EXPECT_TRUE(Take().empty());
}

TEST_F(WrittenNoticesTest, ForgottenClient_GetsNoNotice) {
  notices_.Expect(3, boot_, 0);
  EXPECT_TRUE(notices_.Expects(3));
  notices_.Forget(3);
  EXPECT_FALSE(notices_.Expects(3));
  Advance(4);
  EXPECT_TRUE(Take().empty());
}

TEST_F(WrittenNoticesTest, OtherBoot_GetsNoNotice) {
  notices_.Expect(3, {"job-1", "rank-0@n1", "other"}, 0);
  Advance(4);
  EXPECT_TRUE(Take().empty());
}

}  // namespace
}  // namespace pitwall::collector
