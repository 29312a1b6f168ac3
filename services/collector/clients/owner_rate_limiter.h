// Rate limit of each owner: a share of the collector's one thread, and of what is behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace pitwall::collector {

// A token bucket per owner that holds a quarter of a second. What has been read is charged, so an
// owner may go below zero and then rests until it is back: nothing is lost, its clients wait. Holds
// only owners whose bucket is not full. Not thread-safe; times are monotonic.
class OwnerRateLimiter {
 public:
  // A message costs this beside its bytes: small ones cost time, not bytes.
  static constexpr size_t kMessageCost = 256;

  explicit OwnerRateLimiter(size_t bytes_per_second)
      : rate_(static_cast<int64_t>(bytes_per_second)) {}

  bool Allows(std::string_view owner, int64_t now_ns);
  void Charge(std::string_view owner, size_t cost, int64_t now_ns);
  // Forgets those whose bucket is full again.
  void Sweep(int64_t now_ns);
  size_t size() const { return owners_.size(); }

 private:
  struct Bucket {
    int64_t tokens = 0;
    int64_t filled_ns = 0;
  };
  int64_t Most() const { return rate_ / 4; }
  void Fill(Bucket* bucket, int64_t now_ns) const;

  const int64_t rate_;
  std::map<std::string, Bucket, std::less<>> owners_;
};

}  // namespace pitwall::collector
