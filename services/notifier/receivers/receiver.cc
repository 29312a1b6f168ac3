#include "services/notifier/receivers/receiver.h"

#include "services/base/strings.h"

namespace pitwall::notifier {

Verdict ClassifyHttp(const Answer& answer) {
  using Kind = Verdict::Kind;
  if (answer.code == 0) return {Kind::kFailed, answer.text};
  if (answer.code >= 200 && answer.code < 300) return {Kind::kTaken, ""};
  std::string error = Cat("HTTP ", answer.code);
  switch (answer.code) {
    case 410:
      return {Kind::kGone, std::move(error)};
    case 429:
      return {Kind::kThrottled, std::move(error)};
    case 400:
    case 405:
    case 411:
    case 413:
    case 414:
    case 415:
    case 422:
    case 431:
    case 501:
      return {Kind::kRejected, std::move(error)};
    default:
      return {Kind::kFailed, std::move(error)};
  }
}

}  // namespace pitwall::notifier
