// Types for points in time and durations. The compiler rejects code that mixes clocks. Each type
// holds one int64_t and adds no cost: copies are trivial, and all functions are constexpr and
// inline.
//
// Operators behave as on int64_t, so overflow is undefined behavior.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <limits>

namespace pitwall {

// Distance in nanoseconds between two points on one clock. May be negative.
class Duration final {
 public:
  constexpr Duration() = default;

  static constexpr Duration Nanos(int64_t count) { return Duration(count); }
  static constexpr Duration Millis(int64_t count) { return Duration(count * 1'000'000); }
  static constexpr Duration Seconds(int64_t count) { return Duration(count * 1'000'000'000); }
  static constexpr Duration Minutes(int64_t count) { return Seconds(count * 60); }
  static constexpr Duration Hours(int64_t count) { return Seconds(count * 3600); }
  static constexpr Duration Days(int64_t count) { return Seconds(count * 86'400); }
  static constexpr Duration Zero() { return Duration(); }
  static constexpr Duration Min() { return Duration(std::numeric_limits<int64_t>::min()); }

  constexpr int64_t ns() const { return ns_; }

  constexpr auto operator<=>(const Duration&) const = default;

  constexpr Duration operator-() const { return Duration(-ns_); }
  constexpr Duration& operator+=(Duration other) {
    ns_ += other.ns_;
    return *this;
  }
  constexpr Duration& operator-=(Duration other) {
    ns_ -= other.ns_;
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(Duration a, int64_t n) { return Duration(a.ns_ * n); }
  friend constexpr Duration operator*(int64_t n, Duration a) { return Duration(n * a.ns_); }
  friend constexpr Duration operator/(Duration a, int64_t n) { return Duration(a.ns_ / n); }
  friend constexpr int64_t operator/(Duration a, Duration b) { return a.ns_ / b.ns_; }
  friend constexpr Duration operator%(Duration a, Duration b) { return Duration(a.ns_ % b.ns_); }

 private:
  constexpr explicit Duration(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

// Point on the axis of one clock, in nanoseconds from the clock's origin. `Tag` names the clock.
// Points on different clocks can be neither compared nor converted, except through ns() and FromNs.
template <typename Tag>
class TimePoint final {
 public:
  // The clock's origin.
  constexpr TimePoint() = default;

  static constexpr TimePoint FromNs(int64_t ns) { return TimePoint(ns); }
  static constexpr TimePoint Min() { return TimePoint(std::numeric_limits<int64_t>::min()); }
  static constexpr TimePoint Max() { return TimePoint(std::numeric_limits<int64_t>::max()); }
  // Bounds of valid points. The difference of two valid points does not overflow, and neither does
  // a valid point plus or minus such a difference.
  static constexpr TimePoint Earliest() { return TimePoint(Min().ns_ / 4); }
  static constexpr TimePoint Latest() { return TimePoint(Max().ns_ / 4); }

  constexpr int64_t ns() const { return ns_; }
  // The points one nanosecond before and after this point.
  constexpr TimePoint Next() const { return TimePoint(ns_ + 1); }
  constexpr TimePoint Previous() const { return TimePoint(ns_ - 1); }

  constexpr auto operator<=>(const TimePoint&) const = default;

  constexpr TimePoint& operator+=(Duration d) {
    ns_ += d.ns();
    return *this;
  }
  constexpr TimePoint& operator-=(Duration d) {
    ns_ -= d.ns();
    return *this;
  }
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    return TimePoint(t.ns_ + d.ns());
  }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) {
    return TimePoint(t.ns_ - d.ns());
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return Duration::Nanos(a.ns_ - b.ns_);
  }

 private:
  constexpr explicit TimePoint(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

// Time at which a source measured a sample, in Unix nanoseconds (docs/time-model.md).
using EventTime = TimePoint<struct EventTimeTag>;
// Time at which the log appended a record, in Unix nanoseconds.
using AppendTime = TimePoint<struct AppendTimeTag>;
// Reading of the monotonic clock, in nanoseconds since an arbitrary origin (clock.h).
using MonotonicTime = TimePoint<struct MonotonicTimeTag>;
// Point on the axis of one clock domain: event time on the time clock, or a step on a step clock,
// where one step counts as one second.
using Position = TimePoint<struct PositionTag>;

// Integer that neither converts to nor mixes with other integers. The difference of two values is a
// count.
template <typename Tag>
class StrongInteger final {
 public:
  constexpr StrongInteger() = default;
  constexpr explicit StrongInteger(int64_t value) : value_(value) {}
  static constexpr StrongInteger Min() {
    return StrongInteger(std::numeric_limits<int64_t>::min());
  }
  static constexpr StrongInteger Max() {
    return StrongInteger(std::numeric_limits<int64_t>::max());
  }
  // Value for "unknown": -1.
  static constexpr StrongInteger None() { return StrongInteger(-1); }

  constexpr int64_t value() const { return value_; }

  constexpr auto operator<=>(const StrongInteger&) const = default;

  constexpr StrongInteger& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr StrongInteger operator+(StrongInteger a, int64_t n) {
    return StrongInteger(a.value_ + n);
  }
  friend constexpr StrongInteger operator-(StrongInteger a, int64_t n) {
    return StrongInteger(a.value_ - n);
  }
  friend constexpr int64_t operator-(StrongInteger a, StrongInteger b) {
    return a.value_ - b.value_;
  }

 private:
  int64_t value_ = 0;
};

// Number of a training step. Zero is the first step.
using Step = StrongInteger<struct StepTag>;
// Offset of a record in a partition of the log.
using LogOffset = StrongInteger<struct LogOffsetTag>;

// Distance between the positions of two consecutive steps.
inline constexpr Duration kStepLength = Duration::Seconds(1);

// Conversions between a position and its time or step. The caller must know the domain's clock.
constexpr Position PositionOf(EventTime time) { return Position::FromNs(time.ns()); }
constexpr Position PositionOf(Step step) {
  return Position::FromNs(step.value() * kStepLength.ns());
}
constexpr EventTime EventTimeOf(Position position) { return EventTime::FromNs(position.ns()); }
// Returns the step at the position, rounded toward zero.
constexpr Step StepOf(Position position) { return Step(position.ns() / kStepLength.ns()); }

// Returns the largest multiple of `unit`, counted from `origin`, that is <= t. unit > 0.
template <typename Tag>
constexpr TimePoint<Tag> FloorTo(TimePoint<Tag> t, Duration unit, TimePoint<Tag> origin = {}) {
  const Duration d = t - origin;
  int64_t count = d / unit;
  if (d % unit < Duration::Zero()) --count;
  return origin + count * unit;
}
// Returns the smallest such multiple that is > t.
template <typename Tag>
constexpr TimePoint<Tag> NextAfter(TimePoint<Tag> t, Duration unit, TimePoint<Tag> origin = {}) {
  return FloorTo(t, unit, origin) + unit;
}

// Writes the plain number, for test failure messages.
template <typename Char, typename Traits>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, Duration d) {
  return out << d.ns();
}
template <typename Char, typename Traits, typename Tag>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out,
                                             TimePoint<Tag> t) {
  return out << t.ns();
}
template <typename Char, typename Traits, typename Tag>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out,
                                             StrongInteger<Tag> a) {
  return out << a.value();
}

}  // namespace pitwall
