// Browser sessions: a random cookie replaces the token for requests that cannot send an
// Authorization header.
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
  int64_t lifetime_ns = int64_t{12} * 3600 * kNanosPerSecond;  // monotonic time
  size_t most = 1024;  // the session that expires first is evicted for a new one
};

// In-memory session store. A restart ends all sessions. The store contains only cookie hashes.
// Thread-safe.
class CookieSessions {
 public:
  // `random` returns 32 unpredictable bytes per call, or fewer if not enough are available. Tests
  // replace it.
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
  // Opens a session. Returns Internal if no random bytes are available.
  StatusOr<Opened> Open(Role role);
  std::optional<Session> Find(std::string_view cookie) const;
  void Close(std::string_view cookie);
  size_t size() const;

  static std::string SystemRandom();

 private:
  struct Kept {
    Role role = Role::kNone;
    int64_t expires_ns = 0;  // monotonic time
  };
  void DropExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock* const clock_;
  const CookieSessionLimits limits_;
  const std::function<std::string()> random_;
  mutable Mutex mutex_;
  std::map<std::string, Kept> sessions_ ABSL_GUARDED_BY(mutex_);  // by cookie hash
};

// Returns the session cookie's value from a Cookie header, or "" if there is no such cookie.
std::string_view SessionCookieOf(std::string_view cookie_header);

}  // namespace pitwall::http
