#include "services/notifier/feed/resume_token.h"

#include <gtest/gtest.h>

namespace pitwall::notifier {
namespace {

TEST(ResumeToken, RoundTrips) {
  const Positions positions = {0, 7, int64_t{1} << 60};
  const std::string token = EncodeResumeToken("t", positions);
  EXPECT_EQ(token.find_first_of("+/"), std::string::npos);
  EXPECT_EQ(*DecodeResumeToken("t", 3, token), positions);
  // Partitions that were added later are read from their start.
  EXPECT_EQ(*DecodeResumeToken("t", 4, token), (Positions{0, 7, int64_t{1} << 60, 0}));
}

TEST(ResumeToken, RejectsModifiedToken) {
  const std::string token = EncodeResumeToken("t", {5, 9});
  EXPECT_FALSE(DecodeResumeToken("other", 2, token).ok());
  EXPECT_FALSE(DecodeResumeToken("t", 1, token).ok());
  EXPECT_FALSE(DecodeResumeToken("t", 2, "").ok());
  EXPECT_FALSE(DecodeResumeToken("t", 2, "!!!").ok());
  EXPECT_FALSE(DecodeResumeToken("t", 2, std::string(100'000, 'A')).ok());
  EXPECT_FALSE(DecodeResumeToken("t", 2, EncodePageToken({})).ok());
  EXPECT_FALSE(DecodeResumeToken("t", 2, EncodeResumeToken("t", {-1, 0})).ok());
  for (size_t i = 0; i < token.size(); ++i) {
    std::string damaged = token;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    const auto decoded = DecodeResumeToken("t", 2, damaged);
    // A change to unused bits of the last character may go undetected.
    EXPECT_TRUE(!decoded.ok() || i + 1 == token.size()) << i;
    EXPECT_FALSE(DecodeResumeToken("t", 2, token.substr(0, i)).ok()) << i;
  }
}

TEST(PageToken, RoundTrips) {
  const StatusOr<PageCursor> cursor = DecodePageToken(EncodePageToken({-5, "issue", "resume"}));
  ASSERT_TRUE(cursor.ok());
  EXPECT_EQ(cursor->active_since_ns, -5);
  EXPECT_EQ(cursor->issue, "issue");
  EXPECT_EQ(cursor->resume_token, "resume");
  EXPECT_FALSE(DecodePageToken(EncodeResumeToken("t", {})).ok());
}

}  // namespace
}  // namespace pitwall::notifier
