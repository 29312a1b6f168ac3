#include "services/collector/metrics/refusal.h"

#include <array>

#include "absl/strings/cord.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

constexpr absl::string_view kPayload = "pitwall/refusal";
constexpr std::array<std::string_view, kRefusals> kNames = {
    "malformed", "other_owner",    "displaced", "clients", "clients_per_owner",
    "jobs",      "jobs_per_owner", "no_hello",  "idle",    "buffered"};

absl::StatusCode CodeOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kOtherOwner:
    case Refusal::kDisplaced:
      return absl::StatusCode::kPermissionDenied;
    case Refusal::kNoHello:
    case Refusal::kIdle:
      return absl::StatusCode::kDeadlineExceeded;
    case Refusal::kMalformed:
    case Refusal::kCount:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kResourceExhausted;
  }
}

}  // namespace

std::string_view RefusalName(Refusal refusal) { return kNames[static_cast<size_t>(refusal)]; }

Status Refuse(Refusal refusal, std::string_view message) {
  Status status(CodeOf(refusal), ToAbsl(message));
  status.SetPayload(kPayload, absl::Cord(ToAbsl(RefusalName(refusal))));
  return status;
}

Refusal RefusalOf(const Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return Refusal::kMalformed;
  for (size_t i = 0; i < kRefusals; ++i) {
    if (*payload == ToAbsl(kNames[i])) return static_cast<Refusal>(i);
  }
  return Refusal::kMalformed;
}

}  // namespace pitwall::collector
