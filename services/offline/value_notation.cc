#include "services/offline/value_notation.h"

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::offline {

StatusOr<std::optional<size_t>> CutCount(std::string_view* item) {
  const size_t x = item->rfind('x');
  if (x == std::string_view::npos) return std::optional<size_t>();
  const std::string_view digits = item->substr(x + 1);
  const auto count = ParseInt(digits);
  if (!count.has_value() || *count < 0 || digits.front() == '+')
    return InvalidArgument("x must be followed by a count");
  if (*count > static_cast<int64_t>(kMaxValues))
    return InvalidArgument(Cat("too many values (limit ", kMaxValues, ")"));
  *item = item->substr(0, x);
  return std::optional<size_t>(static_cast<size_t>(*count));
}

size_t StepSign(std::string_view item) {
  for (size_t i = item.size(); i-- > 1;) {
    if ((item[i] == '+' || item[i] == '-') && item[i - 1] != 'e' && item[i - 1] != 'E') return i;
  }
  return std::string_view::npos;
}

Status AppendValues(std::string_view item, std::vector<std::optional<double>>* values) {
  if (item == "stale") {
    values->push_back(StaleMarker());
    return OkStatus();
  }
  std::string_view body = item;
  ASSIGN_OR_RETURN(const std::optional<size_t> repeat, CutCount(&body));
  if (body == "_") {
    values->insert(values->end(), repeat.value_or(1), std::nullopt);
    return OkStatus();
  }
  const size_t sign = StepSign(body);
  if (sign != std::string_view::npos && !repeat.has_value())
    return InvalidArgument("step must be followed by a count (xN)");
  const auto first = ParseDouble(body.substr(0, sign));
  const auto step =
      sign == std::string_view::npos ? std::optional<double>(0) : ParseDouble(body.substr(sign));
  if (!first.has_value() || !step.has_value()) return InvalidArgument("not a number");
  double value = *first;
  for (size_t i = 0; i <= repeat.value_or(0); ++i) {
    values->push_back(value);
    if (sign != std::string_view::npos) value += *step;
  }
  return OkStatus();
}

}  // namespace pitwall::offline
