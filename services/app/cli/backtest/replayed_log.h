// Data directory written by a backtest: a copy of the source log, with the events emitted by the
// backtest's rules.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/engine/program/compiled_rules.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"

namespace pitwall {

// Log written by a replay: telemetry with the source log's append times, rule sets, issues,
// actions, and captures. `pitwall insights` can serve this log, and `pitwall backtest --verify`
// accepts it. Not thread-safe.
class ReplayedLog {
 public:
  // Creates the log. If `rules` is not null, it replaces the recorded rule sets. Returns
  // FailedPrecondition if `dir` exists and is not empty.
  static StatusOr<std::unique_ptr<ReplayedLog>> Make(const std::string& dir, int32_t partitions,
                                                     engine::CompiledRulesPtr rules);
  ~ReplayedLog();

  // Copies the topics not produced by a replay: rule sets, actions, notifications, and captures.
  // Must be called before Telemetry.
  Status CopyOthers(Log* source, std::vector<std::string>* damage);
  // Append a partition's records in order. Events get the append time of the preceding telemetry
  // record. `record` is not used after the call.
  Status Telemetry(int32_t partition, const Record& record);
  Status Events(int32_t partition, const std::vector<IssueEvent>& events, size_t from);
  // Finishes a partition after its last record. Afterward, the partition's rule set is active, and
  // a processor could continue from this point.
  Status Finish(int32_t partition);

 private:
  class ReplayClock;

  ReplayedLog(engine::CompiledRulesPtr rules);
  Status CopyTopic(Log* source, std::string_view topic, std::vector<std::string>* damage);
  Status Add(OutgoingRecord record);
  Status Flush();

  const std::unique_ptr<ReplayClock> clock_;
  const engine::CompiledRulesPtr rules_;
  std::unique_ptr<log::EmbeddedLog> log_;
  std::unique_ptr<Appender> appender_;
  std::vector<OutgoingRecord> waiting_;
  size_t waiting_bytes_ = 0;
  std::set<int32_t> begun_;  // partitions with a written rule set
  std::string rules_hash_;   // hash of the active rule set
};

}  // namespace pitwall
