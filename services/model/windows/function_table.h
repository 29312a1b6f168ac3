// The one table of functions (functions.inc), by name and by number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "services/model/windows/function.h"
#include "services/model/windows/window_state.h"

namespace pitwall {

// PromQL's types of expressions.
enum class ExprType : uint8_t { kScalar, kVector, kMatrix, kString };

// What an argument that is a number in the rule's text must be.
struct ArgumentBound {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool whole = false;
  int not_above = -1;              // number of the argument that it is not above
  bool Holds(double value) const;  // not for NaN
};

struct ArgumentRow {
  constexpr ArgumentRow() = default;
  // Implicit: a type alone is an argument without bounds.
  constexpr ArgumentRow(ExprType t, std::string_view w = "", ArgumentBound b = {})  // NOLINT
      : type(t), what(w), bound(b) {}

  ExprType type = ExprType::kScalar;
  std::string_view what;  // as an error calls it: "a number of standard deviations"
  ArgumentBound bound;
  bool label = false;  // a string: the name of a label
};

class ArgumentList {
 public:
  static constexpr size_t kMost = 5;
  constexpr ArgumentList() = default;
  constexpr ArgumentList(std::initializer_list<ArgumentRow> rows) {
    for (const ArgumentRow& row : rows) rows_[size_++] = row;
  }
  constexpr size_t size() const { return size_; }
  constexpr const ArgumentRow* begin() const { return rows_.data(); }
  constexpr const ArgumentRow* end() const { return rows_.data() + size_; }
  constexpr const ArgumentRow& operator[](size_t i) const { return rows_[i]; }

 private:
  std::array<ArgumentRow, kMost> rows_;
  size_t size_ = 0;
};

// Which values a result may have, whatever the samples are.
struct ResultRange {
  enum class Rule : uint8_t {
    kUnset,     // no row has it: the build fails
    kAny,       // any number
    kFixed,     // low to high
    kArgument,  // among the first argument's values, or between them
    kSum,       // of at least one of the first argument's values
    kQuantile,  // among the second argument's values, if the first lies in 0 to 1
    kAbs,
    kCeil,
    kFloor,
    kLarger,   // of the first two arguments
    kSmaller,  // of the first two arguments
    kBetween,  // the second and the third argument
  };
  Rule rule = Rule::kUnset;
  double low = 0, high = 0;
};

enum class Support : uint8_t { kYes, kNotYet, kNativeHistograms };

// What becomes of the label `le` of classic buckets.
enum class Buckets : uint8_t { kKeeps, kMakes, kTakes };

// Nanoseconds, from docs/performance.md; -1: no cost of its own.
struct CostRow {
  double element = -1;    // of FunctionId: per element
  double walk = -1;       // of the family "samples": per sample of the window and read
  double pair = 0;        // per pair of samples, of at most 256 samples
  double comparison = 0;  // per comparison of a sort of the window
};

struct FunctionRow {
  std::string_view name;
  std::optional<WindowFunction> window = std::nullopt;
  std::optional<FunctionId> element = std::nullopt;
  bool unlisted = false;  // not a function of the language: the name is for texts
  ArgumentList arguments = {};
  int variadic = 0;  // 0: exactly these; n: the last one may be left out or come n times; -1: any
                     // number of times
  ExprType result = ExprType::kVector;
  Support support = Support::kYes;
  StateFamily state = StateFamily::kNone;  // what a window keeps of each series
  ResultRange range = {};
  int least = 0;            // samples of the window without which there is no result
  bool keeps_name = false;  // the result is a sample, and keeps the metric's name
  Buckets buckets = Buckets::kKeeps;
  bool together = false;  // elements that differ in `le` give one
  CostRow cost = {};
  // Beyond PromQL: the line of docs/functions.md and its cost class. Empty for PromQL's.
  std::string_view summary = "";
  std::string_view cost_class = "";
};

// Whether partials do not serve the function: each sample of its window is kept.
constexpr bool NeedsEverySample(const FunctionRow& row) {
  return row.state == StateFamily::kRanked || row.state == StateFamily::kSorted ||
         row.state == StateFamily::kSamples;
}

// Sorted by name, without the unlisted ones: all of Prometheus 3's functions, experimental ones
// included, and those of docs/functions.md.
std::span<const FunctionRow* const> Functions();
const FunctionRow* FindFunction(std::string_view name);  // nullptr when unknown
const FunctionRow& RowOf(WindowFunction function);
const FunctionRow& RowOf(FunctionId function);

inline WindowState WindowStateOf(WindowKind kind, WindowFunction function) {
  return WindowStateOf(kind, RowOf(function).state);
}

}  // namespace pitwall
