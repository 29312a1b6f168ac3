// Inputs of `pitwall backtest`: a log, or files in one of the formats of
// services/codec/imports/formats. Each function returns the events of the recording in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/compile.h"
#include "services/app/command/flags.h"
#include "services/base/status.h"
#include "services/codec/imports/formats/formats.h"
#include "services/engine/domain/recordings.h"
#include "services/engine/shard.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"
#include "services/model/position.h"
#include "services/offline/backtest/recording.h"

namespace pitwall {

struct BacktestRange {
  int64_t start = kMinPosition, end = kMaxPosition;  // event times, both inclusive
  // Corruption detected while reading the log. If the log is corrupt, events may be missing or may
  // differ from those of the live run.
  std::vector<std::string> damage;
};

// Returns the options shared by `pitwall backtest` and `pitwall baseline`.
std::vector<FlagSpec> ReplayInputOptions();
std::vector<FlagSpec> ReplayRangeOptions();
// Returns the options of `pitwall backtest`.
std::vector<FlagSpec> BacktestFlags();

// Runs `pitwall backtest` with all options except --verify. Returns the events in any order.
// `recordings` receives the results of recording rules and may be null.
StatusOr<std::vector<IssueEvent>> Replay(const Flags& flags, BacktestRange* range,
                                         engine::RecordingObserver* recordings);

// Compiles the rule set specified by --rules, --overrides, and --evaluation-interval. `rewrite` is
// passed to CompileRuleSet.
StatusOr<engine::CompiledRulesPtr> ReadGivenRules(const Flags& flags,
                                                  const plan::RewriteRules& rewrite = {});
// Returns the value of --evaluation-interval in nanoseconds, or the default.
StatusOr<int64_t> EvaluationInterval(const Flags& flags);

// Replays a data directory or a Kafka cluster in offset order, with the recorded ticks, promises,
// and rule sets. The whole log is replayed regardless of the range, because a partial replay would
// not match the live run.
StatusOr<std::vector<IssueEvent>> BacktestLog(const Flags& flags, BacktestRange* range,
                                              engine::RecordingObserver* recordings);
// Implements --verify. Prints the result to stdout. Returns kFine or kCheckFailed.
StatusOr<int> VerifyLog(const Flags& flags);
// Verifies an open log. A processor may write to the log at the same time.
StatusOr<int> VerifyLog(Log* log);

// Function that reads one input and adds its samples to the recording.
using ReadInput = std::function<Status(const std::string& path, offline::Recording* recording)>;

// Returns the reader of inputs of a format. `format` must outlive it. Returns InvalidArgument if
// the options of the format are invalid.
StatusOr<ReadInput> FormatInput(const imports::Format& format, const Flags& flags);
// Reads each --input, merges the samples by time, and evaluates the rules specified by --rules.
StatusOr<std::vector<IssueEvent>> BacktestFiles(const Flags& flags, const BacktestRange& range,
                                                const imports::Format& format,
                                                engine::RecordingObserver* recordings);

}  // namespace pitwall
