#include "services/model/windows/function_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace pitwall {
namespace {

// Short names used in the columns of the table.
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;
constexpr ExprType kScalar = ExprType::kScalar;
constexpr ExprType kVector = ExprType::kVector;
constexpr ExprType kMatrix = ExprType::kMatrix;
constexpr ExprType kString = ExprType::kString;

constexpr ArgumentBound Above(double low) { return {.low = low, .low_open = true}; }
constexpr ArgumentBound NotBelow(double low) { return {.low = low}; }
constexpr ArgumentRow LabelName() {
  ArgumentRow row(kString);
  row.label = true;
  return row;
}

using Rule = ResultRange::Rule;
constexpr ResultRange Any() { return {Rule::kAny}; }
constexpr ResultRange Between(double low, double high) { return {Rule::kFixed, low, high}; }
constexpr ResultRange AtLeast(double low) { return {Rule::kFixed, low, kInfinity}; }
constexpr ResultRange AsArgument() { return {Rule::kArgument}; }
constexpr ResultRange SumOfArgument() { return {Rule::kSum}; }
constexpr ResultRange QuantileOfArgument() { return {Rule::kQuantile}; }
constexpr ResultRange AbsOfArgument() { return {Rule::kAbs}; }
constexpr ResultRange CeilOfArgument() { return {Rule::kCeil}; }
constexpr ResultRange FloorOfArgument() { return {Rule::kFloor}; }
constexpr ResultRange LargerArgument() { return {Rule::kLarger}; }
constexpr ResultRange SmallerArgument() { return {Rule::kSmaller}; }
constexpr ResultRange BetweenArguments() { return {Rule::kBetween}; }

// Rows in the order of the enumerators.
constexpr FunctionRow kWindows[] = {
#define PITWALL_WINDOW_ROW(id, text, ...) \
  FunctionRow{.name = text, .window = WindowFunction::id, __VA_ARGS__},
#define PITWALL_WINDOW_OF_PARTIALS PITWALL_WINDOW_ROW
#define PITWALL_WINDOW_OF_SAMPLES PITWALL_WINDOW_ROW
#define PITWALL_WINDOW_OTHERWISE PITWALL_WINDOW_ROW
#include "services/model/windows/functions.inc"
};
constexpr FunctionRow kElements[] = {
#define PITWALL_FUNCTION_ROW(id, text, ...) \
  FunctionRow{.name = text, .element = FunctionId::id, __VA_ARGS__},
#define PITWALL_FUNCTION_OF_EACH PITWALL_FUNCTION_ROW
#define PITWALL_FUNCTION_OF_ALL PITWALL_FUNCTION_ROW
#include "services/model/windows/functions.inc"
};
constexpr FunctionRow kOthers[] = {
#define PITWALL_FUNCTION_BY_OTHERS(text, ...) FunctionRow{.name = text, __VA_ARGS__},
#include "services/model/windows/functions.inc"
};

// ---- A row with a missing column does not compile.

constexpr bool IsOwn(const FunctionRow& row) { return !row.summary.empty(); }

template <typename Holds>
constexpr bool All(Holds holds) {
  for (const FunctionRow& row : kWindows) {
    if (!holds(row)) return false;
  }
  for (const FunctionRow& row : kElements) {
    if (!holds(row)) return false;
  }
  for (const FunctionRow& row : kOthers) {
    if (!holds(row)) return false;
  }
  return true;
}

static_assert(All([](const FunctionRow& row) { return row.range.rule != Rule::kUnset; }),
              "a function without .range: state the range of its result, or Any()");
static_assert(All([](const FunctionRow& row) {
                return !row.window.has_value() || row.state != StateFamily::kNone;
              }),
              "a window function without .state: state the kind of state that a window keeps");
static_assert(All([](const FunctionRow& row) { return !row.window.has_value() || row.least > 0; }),
              "a window function without .least: state the minimum number of samples");
static_assert(All([](const FunctionRow& row) {
                return row.state != StateFamily::kSamples || row.cost.walk > 0;
              }),
              "a function of all samples without .cost.walk (docs/performance.md)");
static_assert(All([](const FunctionRow& row) {
                return !row.element.has_value() || row.cost.element >= 0;
              }),
              "a function of vectors without .cost.element");
static_assert(All([](const FunctionRow& row) { return IsOwn(row) == !row.cost_class.empty(); }),
              "a function of our own has both .summary and .cost_class (docs/functions.md)");
static_assert(All([](const FunctionRow& row) {
                return row.unlisted || !row.window.has_value() || row.arguments.size() > 0;
              }),
              "a window function without .arguments");

// The macro that lists a window function determines which switch statements must have a kernel for
// the function.
constexpr bool ListedAsItsState() {
  constexpr auto of_partials = [](StateFamily state) { return HasPartials(state); };
  constexpr auto of_samples = [](StateFamily state) {
    return state == StateFamily::kRanked || state == StateFamily::kSorted ||
           state == StateFamily::kSketch || state == StateFamily::kSamples;
  };
#define PITWALL_WINDOW_OF_PARTIALS(id, ...) \
  if (!of_partials(kWindows[static_cast<size_t>(WindowFunction::id)].state)) return false;
#define PITWALL_WINDOW_OF_SAMPLES(id, ...) \
  if (!of_samples(kWindows[static_cast<size_t>(WindowFunction::id)].state)) return false;
#include "services/model/windows/functions.inc"
  return true;
}
static_assert(ListedAsItsState(), "a window function whose .state is not of its macro's kind");

}  // namespace

bool ArgumentBound::Holds(double value) const {
  if (!(value >= low && value <= high)) return false;
  return !(low_open && value == low) && !(whole && value != std::floor(value));
}

std::span<const FunctionRow* const> Functions() {
  static const auto* const kSorted = [] {
    auto* const rows = new std::vector<const FunctionRow*>;
    for (const FunctionRow& row : kWindows) {
      if (!row.unlisted) rows->push_back(&row);
    }
    for (const FunctionRow& row : kElements) rows->push_back(&row);
    for (const FunctionRow& row : kOthers) rows->push_back(&row);
    std::sort(rows->begin(), rows->end(),
              [](const FunctionRow* a, const FunctionRow* b) { return a->name < b->name; });
    return rows;
  }();
  return *kSorted;
}

const FunctionRow* FindFunction(std::string_view name) {
  const std::span<const FunctionRow* const> rows = Functions();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), name,
                       [](const FunctionRow* row, std::string_view n) { return row->name < n; });
  return found != rows.end() && (*found)->name == name ? *found : nullptr;
}

const FunctionRow& RowOf(WindowFunction function) {
  return kWindows[static_cast<size_t>(function)];
}
const FunctionRow& RowOf(FunctionId function) { return kElements[static_cast<size_t>(function)]; }

}  // namespace pitwall
