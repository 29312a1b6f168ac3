#include "services/base/config/config_keys.h"

#include "services/base/clock.h"
#include "services/base/text/strings.h"

namespace pitwall {

void Positive(ConfigKeys& keys, std::string_view key, int64_t* nanoseconds, std::string_view help) {
  keys.Duration(key, nanoseconds, help);
  if (*nanoseconds < kNanosPerMilli) keys.CheckValue(key, Cat(key, " must be at least 1ms"));
}

std::string SecretPlaceProblem(std::string_view place) {
  return place.empty() || StartsWith(place, "file:") || StartsWith(place, "env:")
             ? ""
             : "must be the location of a secret; specify file:PATH or env:NAME";
}

}  // namespace pitwall
