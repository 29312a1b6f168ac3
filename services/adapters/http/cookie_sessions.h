// Sessions of browsers: a random cookie in place of the token, for what sends no header
// Authorization.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/access.h"

namespace pitwall::http {

inline constexpr std::string_view kSessionCookie = "pitwall_session";

struct CookieSessionLimits {
  int64_t lifetime_ns = int64_t{12} * 3600 * kNanosPerSecond;  // monotonic
  size_t most = 1024;  // one more displaces the one that ends first
};

// Held in memory: a restart ends them all. What is kept of a cookie is its hash. Thread-safe.
class CookieSessions {
 public:
  // `random`: 32 unpredictable bytes a call, or fewer when there are none; tests give their own.
  explicit CookieSessions(const Clock* clock, CookieSessionLimits limits = {},
                          std::function<std::string()> random = SystemRandom);

  struct Session {
    Role role = Role::kNone;
    int64_t expires_wall_ns = 0;
  };
  struct Opened {
    std::string cookie;  // 64 hex digits
    Session session;
  };
  // Internal: no random bytes.
  StatusOr<Opened> Open(Role role);
  std::optional<Session> Find(std::string_view cookie) const;
  void Close(std::string_view cookie);
  size_t size() const;

  static std::string SystemRandom();

 private:
  struct Kept {
    Role role = Role::kNone;
    int64_t expires_ns = 0;  // monotonic
  };
  void DropExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock* const clock_;
  const CookieSessionLimits limits_;
  const std::function<std::string()> random_;
  mutable Mutex mutex_;
  std::map<std::string, Kept> sessions_ ABSL_GUARDED_BY(mutex_);  // by hash of the cookie
};

// The value of the session cookie in a header Cookie; "" when it has none.
std::string_view SessionCookieOf(std::string_view cookie_header);

}  // namespace pitwall::http
