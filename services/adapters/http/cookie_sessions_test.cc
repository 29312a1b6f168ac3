#include "services/adapters/http/cookie_sessions.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace pitwall::http {
namespace {

// Returns a source of 32-byte strings that differ in the last byte.
std::function<std::string()> Counting() {
  return [n = char{0}]() mutable { return std::string(31, 'r') + ++n; };
}

TEST(CookieSessions, SessionCanBeOpenedFoundAndClosed) {
  fakes::FakeClock clock;
  CookieSessions sessions(&clock);
  const auto a = *sessions.Open(Role::kView);
  const auto b = *sessions.Open(Role::kAct);
  EXPECT_NE(a.cookie, b.cookie);
  EXPECT_EQ(a.cookie.size(), 64U);
  EXPECT_EQ(sessions.Find(a.cookie)->role, Role::kView);
  EXPECT_EQ(sessions.Find(b.cookie)->role, Role::kAct);
  EXPECT_FALSE(sessions.Find(""));
  EXPECT_FALSE(sessions.Find(std::string(64, '0')));
  sessions.Close(a.cookie);
  EXPECT_FALSE(sessions.Find(a.cookie));
  EXPECT_TRUE(sessions.Find(b.cookie));
}

TEST(CookieSessions, SessionsExpireByMonotonicTime) {
  fakes::FakeClock clock;
  CookieSessions sessions(&clock, {.lifetime_ns = 10 * kNanosPerSecond, .most = 4});
  const auto opened = *sessions.Open(Role::kView);
  EXPECT_EQ(opened.session.expires_wall_ns, clock.WallNs() + 10 * kNanosPerSecond);
  // A wall-clock jump neither ends nor extends a session.
  clock.SetWall(clock.WallNs() + 3600 * kNanosPerSecond);
  EXPECT_TRUE(sessions.Find(opened.cookie));
  clock.Advance(10 * kNanosPerSecond - 1);
  EXPECT_TRUE(sessions.Find(opened.cookie));
  clock.Advance(1);
  EXPECT_FALSE(sessions.Find(opened.cookie));
  EXPECT_EQ(sessions.size(), 1U);
  ASSERT_TRUE(sessions.Open(Role::kView).ok());
  EXPECT_EQ(sessions.size(), 1U);  // the expired session was dropped
}

TEST(CookieSessions, LimitEvictsSessionThatExpiresFirst) {
  fakes::FakeClock clock;
  CookieSessions sessions(&clock, {.most = 2}, Counting());
  const auto first = *sessions.Open(Role::kView);
  clock.Advance(1);
  const auto second = *sessions.Open(Role::kView);
  clock.Advance(1);
  const auto third = *sessions.Open(Role::kView);
  EXPECT_EQ(sessions.size(), 2U);
  EXPECT_FALSE(sessions.Find(first.cookie));
  EXPECT_TRUE(sessions.Find(second.cookie));
  EXPECT_TRUE(sessions.Find(third.cookie));
}

TEST(CookieSessions, TooFewRandomBytes_ReturnsError) {
  fakes::FakeClock clock;
  CookieSessions sessions(&clock, {}, [] { return std::string("few"); });
  EXPECT_EQ(sessions.Open(Role::kView).status().code(), absl::StatusCode::kInternal);
}

TEST(SessionCookieOf, FindsCookieAmongOthers) {
  EXPECT_EQ(SessionCookieOf("a=b; pitwall_session=xyz; c=d"), "xyz");
  EXPECT_EQ(SessionCookieOf("pitwall_session=xyz"), "xyz");
  EXPECT_EQ(SessionCookieOf("pitwall_sessions=xyz; xpitwall_session=1"), "");
  EXPECT_EQ(SessionCookieOf(""), "");
}

}  // namespace
}  // namespace pitwall::http
