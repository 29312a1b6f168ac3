// Table of all configuration keys. The functions that read, print, and document the configuration
// share this table, so every key that the parser accepts is also printed and documented.
//
// To add a key, add a line to config_keys.cc and a field to config.h. Then run `ninja config_docs`,
// which writes docs/configuration.md. A kind of receiver declares its keys itself
// (services/notifier/receivers/kinds).
#pragma once

#include <cstdint>
#include <string>

#include "services/app/config/config.h"
#include "services/base/config/config_keys.h"

namespace pitwall {

// Returns "" if the collector supports the sampling interval, and otherwise a description of the
// problem.
std::string IntervalProblem(int64_t interval_ns);

void VisitConfig(ConfigKeys& keys, Config& config);
// Visits the keys of the `notifier` section.
void NotifierKeys(ConfigKeys& keys, NotifierConfig& notifier);

// Returns the contents of docs/configuration.md: the command-line options, and every key with its
// type, default, range, and description.
std::string ConfigAsMarkdown();

}  // namespace pitwall
