#include "services/history/views/steps/natural_order.h"

#include <algorithm>

namespace pitwall::history {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Removes the digits at the start of `text` and returns them without leading zeros.
std::string_view TakeNumber(std::string_view* text) {
  size_t end = 0;
  while (end < text->size() && IsDigit((*text)[end])) ++end;
  std::string_view number = text->substr(0, end);
  text->remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

int Compare(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const std::string_view x = TakeNumber(&a), y = TakeNumber(&b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
      continue;
    }
    if (a[0] != b[0])
      return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]) ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty() ? -1 : 1;
  return whole_a.compare(whole_b);
}

}  // namespace

bool NaturallyLess(std::string_view a, std::string_view b) { return Compare(a, b) < 0; }

bool NaturallyLess(const Labels& a, const Labels& b) {
  const auto pairs_a = a.pairs(), pairs_b = b.pairs();
  for (size_t i = 0; i < pairs_a.size() && i < pairs_b.size(); ++i) {
    if (const int order = pairs_a[i].name.compare(pairs_b[i].name); order != 0) return order < 0;
    if (const int order = Compare(pairs_a[i].value, pairs_b[i].value); order != 0) return order < 0;
  }
  return pairs_a.size() < pairs_b.size();
}

}  // namespace pitwall::history
