// A data directory that a backtest writes: the log that it read, with the events that its rules
// give.
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

// `pitwall insights` shows what it holds, and `pitwall backtest --verify` accepts it: telemetry
// with the append times of its source, rule sets, issues, actions and captures. Not thread-safe.
class ReplayedLog {
 public:
  // FailedPrecondition: `dir` is there and not empty. `rules`: the set that judges instead of those
  // that the source recorded; null: the source's own.
  static StatusOr<std::unique_ptr<ReplayedLog>> Make(const std::string& dir, int32_t partitions,
                                                     engine::CompiledRulesPtr rules);
  ~ReplayedLog();

  // Topics that a replay does not make: rule sets, actions, captures. Before any telemetry.
  Status CopyOthers(Log* source, std::vector<std::string>* damage);
  // Records of a partition in their order; what follows one is written at its time. Refers to the
  // record's key and value no longer than the call.
  Status Telemetry(int32_t partition, const Record& record);
  Status Events(int32_t partition, const std::vector<IssueEvent>& events, size_t from);
  // After the last record of a partition: its rules are in force, and a processor goes on behind
  // it.
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
  std::set<int32_t> begun_;  // partitions whose rule set is written
  std::string rules_hash_;   // in force
};

}  // namespace pitwall
