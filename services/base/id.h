// Strongly typed numeric IDs with explicit conversion only.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace pitwall {

template <typename Tag, typename Rep = uint32_t>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr size_t index() const { return static_cast<size_t>(value_); }
  friend constexpr auto operator<=>(Id, Id) = default;
  template <typename H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Rep value_ = 0;
};

}  // namespace pitwall
