#include "services/notifier/receivers/receiver.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::notifier {

HttpCall PostOf(std::string url, int64_t timeout_ns, std::string content_type, std::string body) {
  HttpCall call;
  call.url = std::move(url);
  call.timeout = Duration::Nanos(timeout_ns);
  call.headers.emplace_back("Content-Type", std::move(content_type));
  call.body = std::move(body);
  return call;
}

Verdict ClassifyHttp(const Answer& answer) {
  using Kind = Verdict::Kind;
  if (answer.code == 0) return {Kind::kFailed, answer.text};
  if (answer.code >= 200 && answer.code < 300) return {Kind::kTaken, ""};
  std::string error = Cat("HTTP ", answer.code);
  if (answer.code >= 300 && answer.code < 400 && !answer.location.empty())
    CatTo(error, ": moved to ", answer.location.substr(0, answer.location.find('?')),
          "; set this address in the configuration");
  switch (answer.code) {
    case 410:
      return {Kind::kGone, std::move(error)};
    case 429:
      return {Kind::kThrottled, std::move(error)};
    case 400:
    case 405:
    case 406:
    case 409:
    case 411:
    case 412:
    case 413:
    case 414:
    case 415:
    case 416:
    case 417:
    case 422:
    case 428:
    case 431:
    case 451:
    case 501:
      return {Kind::kRejected, std::move(error)};
    default:
      return {Kind::kFailed, std::move(error)};
  }
}

}  // namespace pitwall::notifier
