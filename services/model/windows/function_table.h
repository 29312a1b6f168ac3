// Table of functions (functions.inc), indexed by name and by number.
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

// Expression types of PromQL.
enum class ExprType : uint8_t { kScalar, kVector, kMatrix, kString };

// Bounds of an argument that is a literal number in the rule.
struct ArgumentBound {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool whole = false;
  int not_above = -1;              // index of the argument that is its upper limit
  bool Holds(double value) const;  // false for NaN
};

struct ArgumentRow {
  constexpr ArgumentRow() = default;
  // Implicit, because a type alone denotes an argument without bounds.
  constexpr ArgumentRow(ExprType t, std::string_view w = "", ArgumentBound b = {})  // NOLINT
      : type(t), what(w), bound(b) {}

  ExprType type = ExprType::kScalar;
  std::string_view what;  // name in error messages, such as "a number of standard deviations"
  ArgumentBound bound;
  bool label = false;  // the argument is a string that contains a label name
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

// Range of a function's results, independent of the samples.
struct ResultRange {
  enum class Rule : uint8_t {
    kUnset,     // not set: the build fails
    kAny,       // any number
    kFixed,     // low to high
    kArgument,  // one of the first argument's values, or a value between them
    kSum,       // sum of one or more of the first argument's values
    kQuantile,  // one of the second argument's values if the first is between 0 and 1
    kAbs,
    kCeil,
    kFloor,
    kLarger,   // the larger of the first two arguments
    kSmaller,  // the smaller of the first two arguments
    kBetween,  // between the second and the third argument
  };
  Rule rule = Rule::kUnset;
  double low = 0, high = 0;
};

enum class Support : uint8_t { kYes, kNotYet, kNativeHistograms };

// Effect of the function on the label `le` of classic buckets.
enum class Buckets : uint8_t { kKeeps, kMakes, kTakes };

// Costs in nanoseconds, from docs/performance.md; -1: no cost of its own.
struct CostRow {
  double element = -1;    // FunctionId only: per element
  double walk = -1;       // family "samples" only: per sample of the window and read
  double pair = 0;        // per pair of samples, for at most 256 samples
  double comparison = 0;  // per comparison when sorting the window
};

struct FunctionRow {
  std::string_view name;
  std::optional<WindowFunction> window = std::nullopt;
  std::optional<FunctionId> element = std::nullopt;
  bool unlisted = false;  // not a function of the language: the name is used only in texts
  ArgumentList arguments = {};
  // 0: exactly these arguments; n: the last may be omitted or repeated up to n times; -1: any
  // number of repetitions.
  int variadic = 0;
  ExprType result = ExprType::kVector;
  Support support = Support::kYes;
  StateFamily state = StateFamily::kNone;  // state that a window keeps per series
  ResultRange range = {};
  int least = 0;            // minimum number of samples in the window
  bool keeps_name = false;  // the result is a sample and keeps the metric name
  Buckets buckets = Buckets::kKeeps;
  bool together = false;  // elements that differ only in `le` are combined
  CostRow cost = {};
  // Texts for extensions to PromQL: the summary in docs/functions.md and the cost class. Empty for
  // PromQL functions.
  std::string_view summary = "";
  std::string_view cost_class = "";
};

// Returns true if the function needs every sample of its window, not only partial results.
constexpr bool NeedsEverySample(const FunctionRow& row) {
  return row.state == StateFamily::kRanked || row.state == StateFamily::kSorted ||
         row.state == StateFamily::kSamples;
}

// Returns the listed functions, sorted by name: all functions in Prometheus 3, including
// experimental functions, and the functions in docs/functions.md.
std::span<const FunctionRow* const> Functions();
const FunctionRow* FindFunction(std::string_view name);  // nullptr if the name is unknown
const FunctionRow& RowOf(WindowFunction function);
const FunctionRow& RowOf(FunctionId function);

inline WindowState WindowStateOf(WindowKind kind, WindowFunction function) {
  return WindowStateOf(kind, RowOf(function).state);
}

}  // namespace pitwall
