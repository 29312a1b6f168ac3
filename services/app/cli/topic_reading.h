// Functions that read topics from outside the running system, for `actions list`, `issues`, `jobs`,
// and `rules status`. Reading does not affect the services.
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

// Returns the options that specify the log for OpenLogInput.
std::vector<FlagSpec> LogInputFlags();

bool HasLogInput(const Flags& flags);
// Returns InvalidArgument unless the options specify exactly one of a directory and brokers.
// `clock` must outlive the log.
StatusOr<std::unique_ptr<Log>> OpenLogInput(const Flags& flags, Clock* clock);

// Calls `take` with each currently committed record, in order within each partition. A missing
// topic counts as empty. Corrupt records are skipped with a warning.
Status ReadTopic(Log* log, std::string_view topic,
                 const std::function<void(int32_t partition, const Record&)>& take);

}  // namespace pitwall
