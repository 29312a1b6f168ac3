// Log used by a victim; one implementation per kind of log, selected at link time.
#pragma once

#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/io/io.h"

namespace pitwall::scenarios {

// `place`: a directory, or a broker's address.
StatusOr<std::unique_ptr<Log>> OpenVictimLog(const std::string& place, Clock* clock);
// Returns a place for one test: `dir` is an empty folder of its own.
std::string VictimPlace(const std::string& dir);

}  // namespace pitwall::scenarios
