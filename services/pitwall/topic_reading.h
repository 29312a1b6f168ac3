// Topics read from outside of a running system: by `actions list`, `issues`, `jobs` and
// `rules status`. Only read: what runs is not disturbed.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/pitwall/flags.h"

namespace pitwall {

// The flags by which OpenLogInput finds the log.
inline constexpr FlagSpec kLogInputFlags[] = {
    {"input", FlagSpec::Kind::kOne, "DIR",
     "data directory of a `pitwall standalone` (also --data-dir)"},
    {"data-dir", FlagSpec::Kind::kOne, "DIR", "the same"},
    {"brokers", FlagSpec::Kind::kOne, "HOSTS",
     "instead the topics of this Apache Kafka (host:port,…)"},
};

bool HasLogInput(const Flags& flags);
// InvalidArgument: neither or both of a directory and brokers. `clock` is borrowed.
StatusOr<std::unique_ptr<Log>> OpenLogInput(const Flags& flags, Clock* clock);

// Every record that is committed now, in the order of each partition. A topic that is not there has
// none. What is damaged is skipped with a warning.
Status ReadTopic(Log* log, std::string_view topic,
                 const std::function<void(int32_t partition, const Record&)>& take);

}  // namespace pitwall
