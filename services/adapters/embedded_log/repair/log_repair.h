// `pitwall log check|repair`: what is damaged in a data directory, and how it starts again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/derived_outputs.h"

namespace pitwall::log {

struct LogCheck {
  std::vector<DamageReport> reports;  // healed ones too: those a start makes good by itself
  int64_t files = 0;                  // read
  int64_t bytes = 0;
  // Whether a start goes on by itself.
  bool startable() const;
};

// Reads every byte of the log, and changes nothing. NotFound: no data directory.
// FailedPrecondition: of a newer version.
StatusOr<LogCheck> CheckLog(const std::string& dir);

// What repair does about a report, as a sentence's second half.
std::string RemedyOf(const DamageReport& report);

struct LogRepair {
  LogCheck before;
  std::vector<std::string> done;        // one line each; with dry_run, what would be done
  std::vector<std::string> quarantine;  // files that were set aside
};

// Makes the log startable. What can be read stays; files that are rewritten or dropped are copied
// to <dir>/quarantine first; offsets that are lost are noted in the journal, and readers of them
// get DataLoss. Without damage nothing changes. FailedPrecondition: somebody has the log open.
//
// Where the journal is damaged, groups go on at older positions: what the makers of `derived` wrote
// since is cut where they make it again, so that nothing is there twice (output_cut.h).
StatusOr<LogRepair> RepairLog(const std::string& dir, bool dry_run, Clock* clock,
                              const std::vector<DerivedOutputs>& derived = {});

}  // namespace pitwall::log
