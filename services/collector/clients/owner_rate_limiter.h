// Rate limit per owner, so that owners share the collector's single socket thread and downstream
// capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace pitwall::collector {

// One token bucket per owner, with a capacity of 250 ms at the full rate. Bytes are charged after
// they are read, so a bucket may fall below zero. The owner is then paused until its bucket is
// positive again. No data is lost, but the owner's clients block. Only buckets that are not full
// are stored. Not thread-safe. Times are monotonic.
class OwnerRateLimiter {
 public:
  // Fixed cost per message, added to its bytes because the main cost of a small message is
  // processing time.
  static constexpr size_t kMessageCost = 256;

  explicit OwnerRateLimiter(size_t bytes_per_second)
      : rate_(static_cast<int64_t>(bytes_per_second)) {}

  bool Allows(std::string_view owner, int64_t now_ns);
  void Charge(std::string_view owner, size_t cost, int64_t now_ns);
  // Removes full buckets.
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
