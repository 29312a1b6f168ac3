// Input formats of `pitwall backtest`: one function per format. Each gives the events of the
// recording, in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/compile.h"
#include "services/base/status.h"
#include "services/engine/domain/recordings.h"
#include "services/engine/shard.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"
#include "services/model/position.h"
#include "services/offline/backtest/recording.h"
#include "services/pitwall/flags.h"

namespace pitwall {

struct BacktestRange {
  int64_t start = kMinPosition, end = kMaxPosition;  // event time, both within
  // What of a log could not be read: the events may not be all, or not those of the live run.
  std::vector<std::string> damage;
};

// The flags of `pitwall backtest`, and what they say but for --verify. The events are in any order.
// `recordings` (may be null) is told what recording rules write.
const std::vector<FlagSpec>& BacktestFlags();
StatusOr<std::vector<IssueEvent>> Replay(const Flags& flags, BacktestRange* range,
                                         engine::RecordingObserver* recordings);

// The rule set of --rules, --overrides and --evaluation-interval. `rewrite`: see CompileRuleSet.
StatusOr<engine::CompiledRulesPtr> ReadGivenRules(const Flags& flags,
                                                  const plan::RewriteRules& rewrite = {});
// --evaluation-interval in nanoseconds, else the default.
StatusOr<int64_t> EvaluationInterval(const Flags& flags);

// A data directory or a Kafka: ticks, promises and rule sets as they were, in offset order. The
// whole log is replayed whatever the range, since only that is what was live.
StatusOr<std::vector<IssueEvent>> BacktestLog(const Flags& flags, BacktestRange* range,
                                              engine::RecordingObserver* recordings);
// --verify: kFine or kCheckFailed, said on stdout.
StatusOr<int> VerifyLog(const Flags& flags);
// The same of an open log, which a processor may be writing to.
StatusOr<int> VerifyLog(Log* log);

// How one input becomes samples of the recording.
using ReadInput = std::function<Status(const std::string& path, offline::Recording* recording)>;

// Files merged by time: the rules of --rules over what `read` makes of each --input.
StatusOr<std::vector<IssueEvent>> BacktestFiles(const Flags& flags, const BacktestRange& range,
                                                const ReadInput& read,
                                                engine::RecordingObserver* recordings);
// One piece of a file after the other, for readers that are fed. NotFound and others name the path.
Status ForEachPiece(const std::string& path, const std::function<Status(std::string_view)>& feed);

// ReadInput of --format openmetrics.
Status ReadOpenMetrics(const std::string& path, offline::Recording* recording);
// --format csv: of the flag --mapping. InvalidArgument: what is wrong with it.
StatusOr<ReadInput> TableInput(const Flags& flags);
// --format smdebug, chrome-trace and tensorflow: a file, or a folder with those of one job.
Status ReadDebuggerOutput(const std::string& path, offline::Recording* recording);
Status ReadChromeTraces(const std::string& path, offline::Recording* recording);
Status ReadTensorflowProfiles(const std::string& path, offline::Recording* recording);

}  // namespace pitwall
