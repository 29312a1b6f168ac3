#include "services/query/query_times.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "services/model/position.h"

namespace pitwall::query {
namespace {

// Smallest offset that represents a code. Encode limits literal offsets to much smaller values.
constexpr int64_t kFirstCode = int64_t{1} << 59;
// Maximum offset (18 years). Within this limit, the sum of an offset, a range, and a time cannot
// overflow.
constexpr int64_t kLongestOffset = kMaxPosition / 4;

}  // namespace

Status QueryTimes::EncodeModifiers(lang::Modifiers* modifiers) {
  Time time;
  if (modifiers->offset) time.offset = modifiers->offset->nanos;
  if (modifiers->at) {
    switch (modifiers->at->kind) {
      case lang::AtKind::kTimestamp:
        if (!(std::fabs(modifiers->at->seconds) < static_cast<double>(kMaxPosition) / 1e9))
          return InvalidArgument("@ modifier timestamp is out of range");
        // Prometheus also rounds the time to milliseconds.
        time.at = std::llround(modifiers->at->seconds * 1e3) * 1'000'000;
        break;
      case lang::AtKind::kStart:
        time.at = start_;
        break;
      case lang::AtKind::kEnd:
        time.at = end_;
        break;
    }
  }
  if (time.offset < -kLongestOffset || time.offset > kLongestOffset)
    return InvalidArgument("offset is too long");
  if (time == Time()) return OkStatus();
  auto known = std::find(times_.begin(), times_.end(), time);
  if (known == times_.end()) known = times_.insert(times_.end(), time);
  lang::Duration code;
  code.nanos = kFirstCode + (known - times_.begin());
  modifiers->offset = code;
  modifiers->at.reset();
  return OkStatus();
}

Status QueryTimes::Encode(lang::Expr* expr) {
  const auto below = [&](const lang::ExprPtr& child) {
    return child == nullptr ? OkStatus() : Encode(child.get());
  };
  if (auto* selector = std::get_if<lang::SelectorExpr>(&expr->node))
    return EncodeModifiers(&selector->modifiers);
  if (auto* subquery = std::get_if<lang::SubqueryExpr>(&expr->node)) {
    RETURN_IF_ERROR(EncodeModifiers(&subquery->modifiers));
    return below(subquery->expr);
  }
  if (auto* unary = std::get_if<lang::UnaryExpr>(&expr->node)) return below(unary->expr);
  if (auto* paren = std::get_if<lang::ParenExpr>(&expr->node)) return below(paren->expr);
  if (auto* binary = std::get_if<lang::BinaryExpr>(&expr->node)) {
    RETURN_IF_ERROR(below(binary->left));
    return below(binary->right);
  }
  if (auto* aggregate = std::get_if<lang::AggregateExpr>(&expr->node)) {
    RETURN_IF_ERROR(below(aggregate->parameter));
    return below(aggregate->expr);
  }
  if (auto* call = std::get_if<lang::CallExpr>(&expr->node)) {
    for (const lang::ExprPtr& argument : call->arguments) RETURN_IF_ERROR(below(argument));
  }
  return OkStatus();
}

int64_t QueryTimes::EndAt(int64_t offset, int64_t tick) const {
  if (offset < kFirstCode) return tick - offset;
  const Time& time = times_[static_cast<size_t>(offset - kFirstCode)];
  return time.at.value_or(tick) - time.offset;
}

bool QueryTimes::IsFixed(int64_t offset) const {
  return offset >= kFirstCode && times_[static_cast<size_t>(offset - kFirstCode)].at.has_value();
}

}  // namespace pitwall::query
