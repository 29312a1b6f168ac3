#include "services/history/peers/partial_result.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

thread_local PartialResult* innermost = nullptr;

}  // namespace

PartialResult::PartialResult() : outer_(std::exchange(innermost, this)) {}
PartialResult::~PartialResult() { innermost = outer_; }

void PartialResult::Note(int index, std::string why) {
  if (innermost != nullptr) innermost->missing_.insert_or_assign(index, std::move(why));
}

std::vector<std::string> PartialResult::Texts() const {
  std::vector<std::string> out;
  for (const auto& [index, why] : missing_)
    out.push_back(Cat("jobs of peer ", index, " are missing: ", why));
  return out;
}

}  // namespace pitwall::history
