#include "services/adapters/embedded_log/embedded_log.h"
#include "tests/scenarios/scenario_log.h"

namespace pitwall::scenarios {

const std::vector<LogKind>& LogKinds() {
  static const std::vector<LogKind> kinds = {
      {"Embedded",
       [](Clock* append_clock, const std::string& dir) -> StatusOr<std::unique_ptr<Log>> {
         log::EmbeddedLogOptions options;
         options.dir = dir + "/log";
         options.fsync = log::FsyncPolicy::kNever;
         options.background = false;
         ASSIGN_OR_RETURN(std::unique_ptr<log::EmbeddedLog> log,
                          log::OpenEmbeddedLog(options, append_clock));
         return log;
       }}};
  return kinds;
}

}  // namespace pitwall::scenarios
