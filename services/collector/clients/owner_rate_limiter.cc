#include "services/collector/clients/owner_rate_limiter.h"

#include <algorithm>
#include <iterator>

#include "services/base/clock.h"

namespace pitwall::collector {

void OwnerRateLimiter::Fill(Bucket* bucket, int64_t now_ns) const {
  // The time is capped, because the product could otherwise overflow. An hour fills a bucket at any
  // practical rate.
  const int64_t passed_us = std::max<int64_t>(now_ns - bucket->filled_ns, 0) / 1000;
  if (passed_us == 0) return;
  const int64_t seconds = std::min<int64_t>(passed_us / 1'000'000, 3600);
  const int64_t rest_us = passed_us % 1'000'000;
  bucket->tokens = std::min(Most(), bucket->tokens + seconds * rate_ + rest_us * rate_ / 1'000'000);
  bucket->filled_ns += passed_us * 1000;
}

bool OwnerRateLimiter::Allows(std::string_view owner, int64_t now_ns) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return true;
  Fill(&found->second, now_ns);
  return found->second.tokens > 0;
}

void OwnerRateLimiter::Charge(std::string_view owner, size_t cost, int64_t now_ns) {
  auto found = owners_.find(owner);
  if (found == owners_.end())
    found = owners_.emplace(std::string(owner), Bucket{Most(), now_ns}).first;
  Fill(&found->second, now_ns);
  found->second.tokens -= static_cast<int64_t>(cost);
}

void OwnerRateLimiter::Sweep(int64_t now_ns) {
  for (auto entry = owners_.begin(); entry != owners_.end();) {
    Fill(&entry->second, now_ns);
    entry = entry->second.tokens >= Most() ? owners_.erase(entry) : std::next(entry);
  }
}

}  // namespace pitwall::collector
