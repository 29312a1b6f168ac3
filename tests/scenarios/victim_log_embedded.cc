#include "services/adapters/embedded_log/embedded_log.h"
#include "tests/scenarios/victim_log.h"

namespace pitwall::scenarios {

StatusOr<std::unique_ptr<Log>> OpenVictimLog(const std::string& place, Clock* clock) {
  log::EmbeddedLogOptions options;
  options.dir = place;
  options.fsync = log::FsyncPolicy::kNever;  // kill -9 does not lose written data
  ASSIGN_OR_RETURN(std::unique_ptr<log::EmbeddedLog> log, log::OpenEmbeddedLog(options, clock));
  return log;
}
std::string VictimPlace(const std::string& dir) { return dir + "/log"; }

}  // namespace pitwall::scenarios
