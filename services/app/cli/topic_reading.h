// Reading of topics from outside of a running system, for `actions list`, `issues`, `jobs`, and
// `rules status`. Reading does not disturb the services.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "services/app/command/flags.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall {

// Returns the options by which OpenLogInput finds the log.
std::vector<FlagSpec> LogInputFlags();

bool HasLogInput(const Flags& flags);
// Returns InvalidArgument unless the options name either a directory or brokers. `clock` must
// outlive the log.
StatusOr<std::unique_ptr<Log>> OpenLogInput(const Flags& flags, Clock* clock);

// Passes every record that is committed now to `take`, in the order of each partition. A topic that
// does not exist has no records. Damaged records are skipped with a warning.
Status ReadTopic(Log* log, std::string_view topic,
                 const std::function<void(int32_t partition, const Record&)>& take);

}  // namespace pitwall
