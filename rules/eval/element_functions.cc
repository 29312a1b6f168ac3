#include "rules/eval/element_functions.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "rules/eval/arithmetic.h"

namespace pitwall::eval {
namespace {

using plan::FunctionId;

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kDaySeconds = 86'400;

template <typename F>
void Loop(const double* in, double* out, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) out[i] = f(in[i]);
}

// Converts a float to an integer like Go on amd64, which returns the minimum integer for all
// out-of-range values.
int64_t ToSeconds(double v) {
  return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min();
}

int64_t DaysSinceEpoch(int64_t seconds) {
  return seconds / kDaySeconds - (seconds % kDaySeconds < 0 ? 1 : 0);
}

int64_t SecondOfDay(int64_t seconds) { return seconds - DaysSinceEpoch(seconds) * kDaySeconds; }

struct Date {
  int64_t year;
  int month;  // 1 to 12
  int day;    // 1 to 31
};

bool IsLeap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysIn(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && IsLeap(year) ? 1 : 0);
}

// Computes a date in the proleptic Gregorian calendar. The algorithm uses eras of 400 years that
// begin on March 1 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
Date DateOf(int64_t days) {
  const int64_t shifted = days + 719'468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const int64_t day_of_era = shifted - era * 146'097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

Date DateAt(double v) { return DateOf(DaysSinceEpoch(ToSeconds(v))); }

double DayOfYear(double v) {
  const Date date = DateAt(v);
  int day = date.day;
  for (int month = 1; month < date.month; ++month) day += DaysIn(date.year, month);
  return day;
}

double DayOfWeek(double v) {
  const int64_t day = (DaysSinceEpoch(ToSeconds(v)) + 4) % 7;  // the epoch was on a Thursday
  return static_cast<double>(day < 0 ? day + 7 : day);
}

void Dates(FunctionId function, const double* in, double* out, size_t n) {
  switch (function) {
    case FunctionId::kMinute:
      return Loop(in, out, n, [](double v) {
        return static_cast<double>(SecondOfDay(ToSeconds(v)) / 60 % 60);
      });
    case FunctionId::kHour:
      return Loop(in, out, n,
                  [](double v) { return static_cast<double>(SecondOfDay(ToSeconds(v)) / 3600); });
    case FunctionId::kDayOfWeek:
      return Loop(in, out, n, DayOfWeek);
    case FunctionId::kDayOfMonth:
      return Loop(in, out, n, [](double v) { return static_cast<double>(DateAt(v).day); });
    case FunctionId::kDayOfYear:
      return Loop(in, out, n, DayOfYear);
    case FunctionId::kDaysInMonth:
      return Loop(in, out, n, [](double v) {
        const Date date = DateAt(v);
        return static_cast<double>(DaysIn(date.year, date.month));
      });
    case FunctionId::kMonth:
      return Loop(in, out, n, [](double v) { return static_cast<double>(DateAt(v).month); });
    default:  // kYear
      return Loop(in, out, n, [](double v) { return static_cast<double>(DateAt(v).year); });
  }
}

}  // namespace

void ApplyFunction(FunctionId function, double a, double b, const double* in, double* out,
                   size_t n) {
  switch (function) {
    case FunctionId::kAbs:
      return Loop(in, out, n, [](double v) { return std::fabs(v); });
    case FunctionId::kCeil:
      return Loop(in, out, n, [](double v) { return std::ceil(v); });
    case FunctionId::kFloor:
      return Loop(in, out, n, [](double v) { return std::floor(v); });
    case FunctionId::kExp:
      return Loop(in, out, n, [](double v) { return std::exp(v); });
    case FunctionId::kLn:
      return Loop(in, out, n, [](double v) { return std::log(v); });
    case FunctionId::kLog2:
      return Loop(in, out, n, [](double v) { return std::log2(v); });
    case FunctionId::kLog10:
      return Loop(in, out, n, [](double v) { return std::log10(v); });
    case FunctionId::kSqrt:
      return Loop(in, out, n, [](double v) { return std::sqrt(v); });
    case FunctionId::kSgn:
      return Loop(in, out, n, [](double v) { return v < 0 ? -1.0 : (v > 0 ? 1.0 : v); });
    case FunctionId::kRound: {
      const double inverse = 1.0 / a;
      return Loop(in, out, n,
                  [inverse](double v) { return std::floor(v * inverse + 0.5) / inverse; });
    }
    case FunctionId::kClamp:
      return Loop(in, out, n, [a, b](double v) { return GoMax(a, GoMin(b, v)); });
    case FunctionId::kClampMin:
      return Loop(in, out, n, [a](double v) { return GoMax(a, v); });
    case FunctionId::kClampMax:
      return Loop(in, out, n, [a](double v) { return GoMin(a, v); });
    case FunctionId::kTimestampOf:
      return Loop(in, out, n, [a](double) { return a; });
    case FunctionId::kAcos:
      return Loop(in, out, n, [](double v) { return std::acos(v); });
    case FunctionId::kAcosh:
      return Loop(in, out, n, [](double v) { return std::acosh(v); });
    case FunctionId::kAsin:
      return Loop(in, out, n, [](double v) { return std::asin(v); });
    case FunctionId::kAsinh:
      return Loop(in, out, n, [](double v) { return std::asinh(v); });
    case FunctionId::kAtan:
      return Loop(in, out, n, [](double v) { return std::atan(v); });
    case FunctionId::kAtanh:
      return Loop(in, out, n, [](double v) { return std::atanh(v); });
    case FunctionId::kCos:
      return Loop(in, out, n, [](double v) { return std::cos(v); });
    case FunctionId::kCosh:
      return Loop(in, out, n, [](double v) { return std::cosh(v); });
    case FunctionId::kSin:
      return Loop(in, out, n, [](double v) { return std::sin(v); });
    case FunctionId::kSinh:
      return Loop(in, out, n, [](double v) { return std::sinh(v); });
    case FunctionId::kTan:
      return Loop(in, out, n, [](double v) { return std::tan(v); });
    case FunctionId::kTanh:
      return Loop(in, out, n, [](double v) { return std::tanh(v); });
    case FunctionId::kDeg:
      return Loop(in, out, n, [](double v) { return v * 180 / kPi; });
    case FunctionId::kRad:
      return Loop(in, out, n, [](double v) { return v * kPi / 180; });
    case FunctionId::kMinute:
    case FunctionId::kHour:
    case FunctionId::kDayOfWeek:
    case FunctionId::kDayOfMonth:
    case FunctionId::kDayOfYear:
    case FunctionId::kDaysInMonth:
    case FunctionId::kMonth:
    case FunctionId::kYear:
      return Dates(function, in, out, n);
#define PITWALL_FUNCTION_OF_ALL(id, ...) case FunctionId::id:
#include "services/model/windows/functions.inc"
      return;
  }
}

}  // namespace pitwall::eval
