// Implementation of `pitwall log check|repair`: detects damage in a data directory and repairs the
// log so that it can start.
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
  std::vector<DamageReport> reports;  // includes damage that a start repairs automatically
  int64_t files = 0;                  // number of files read
  int64_t bytes = 0;
  // Returns true if the log starts without a repair.
  bool startable() const;
};

// Reads the whole log without changing anything. Returns NotFound if there is no data directory,
// and FailedPrecondition if a newer version wrote it.
StatusOr<LogCheck> CheckLog(const std::string& dir);

// Returns the effect of a repair on the reported damage, as a clause that can be appended to the
// report.
std::string RemedyOf(const DamageReport& report);

struct LogRepair {
  LogCheck before;
  std::vector<std::string> done;        // one line per action; in a dry run, the planned actions
  std::vector<std::string> quarantine;  // files that were set aside
};

// Repairs the log so that it can start. Readable data is kept. Files that are rewritten or dropped
// are first copied to <dir>/quarantine. Lost offsets are noted in the journal, and readers receive
// DataLoss for them. If there is no damage, nothing changes. Returns FailedPrecondition if a
// process has the log open.
//
// If the journal is damaged, groups resume at older positions. Outputs in `derived` that were
// written after those positions are cut if they will be produced again, so that no record appears
// twice (output_cut.h).
StatusOr<LogRepair> RepairLog(const std::string& dir, bool dry_run, Clock* clock,
                              const std::vector<DerivedOutputs>& derived = {});

}  // namespace pitwall::log
