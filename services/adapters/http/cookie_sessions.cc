#include "services/adapters/http/cookie_sessions.h"

#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

constexpr size_t kRandomBytes = 32;

std::string HashOf(std::string_view cookie) {
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(cookie.data()), cookie.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

}  // namespace

CookieSessions::CookieSessions(const Clock* clock, CookieSessionLimits limits,
                               std::function<std::string()> random)
    : clock_(clock), limits_(limits), random_(std::move(random)) {}

std::string CookieSessions::SystemRandom() {
  std::string out(kRandomBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), kRandomBytes) != 1) return {};
  return out;
}

StatusOr<CookieSessions::Opened> CookieSessions::Open(Role role) {
  const std::string random = random_();
  if (random.size() < kRandomBytes)
    return Internal(
        "session: no random bytes available; use the token in the Authorization header");
  Opened out;
  out.cookie = Hex(random);
  out.session = {role, clock_->WallNs() + limits_.lifetime_ns};
  const MutexLock lock(&mutex_);
  DropExpired();
  while (sessions_.size() >= limits_.most) {
    sessions_.erase(std::min_element(
        sessions_.begin(), sessions_.end(),
        [](const auto& a, const auto& b) { return a.second.expires_ns < b.second.expires_ns; }));
  }
  sessions_[HashOf(out.cookie)] = {role, clock_->MonotonicNs() + limits_.lifetime_ns};
  return out;
}

std::optional<CookieSessions::Session> CookieSessions::Find(std::string_view cookie) const {
  if (cookie.size() != 2 * kRandomBytes) return std::nullopt;
  const MutexLock lock(&mutex_);
  const auto at = sessions_.find(HashOf(cookie));
  if (at == sessions_.end()) return std::nullopt;
  const int64_t left_ns = at->second.expires_ns - clock_->MonotonicNs();
  if (left_ns <= 0) return std::nullopt;
  return Session{at->second.role, clock_->WallNs() + left_ns};
}

void CookieSessions::Close(std::string_view cookie) {
  const MutexLock lock(&mutex_);
  sessions_.erase(HashOf(cookie));
}

size_t CookieSessions::size() const {
  const MutexLock lock(&mutex_);
  return sessions_.size();
}

void CookieSessions::DropExpired() {
  const int64_t now_ns = clock_->MonotonicNs();
  std::erase_if(sessions_, [&](const auto& kept) { return kept.second.expires_ns <= now_ns; });
}

std::string_view SessionCookieOf(std::string_view cookie_header) {
  for (std::string_view cookie : Split(cookie_header, ';')) {
    cookie = Trim(cookie);
    const size_t equals = cookie.find('=');
    if (equals != std::string_view::npos && cookie.substr(0, equals) == kSessionCookie)
      return cookie.substr(equals + 1);
  }
  return {};
}

}  // namespace pitwall::http
