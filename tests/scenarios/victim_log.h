// Log used by a victim process. Each kind of log has its own implementation, selected at link time.
#pragma once

#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/io/io.h"

namespace pitwall::scenarios {

// Opens the log at `place`: a directory or a broker's address.
StatusOr<std::unique_ptr<Log>> OpenVictimLog(const std::string& place, Clock* clock);
// Returns a place for one test. `dir` is a separate, empty directory.
std::string VictimPlace(const std::string& dir);

}  // namespace pitwall::scenarios
