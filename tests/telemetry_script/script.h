// Parsed form of a telemetry script. README.md describes the notation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/labels.h"
#include "services/model/telemetry.h"

namespace pitwall::telemetry_script {

// Name of a source. `job` is empty if the script does not name it.
struct SourceName {
  std::string job;
  std::string id;
  SourceKind kind = SourceKind::kNode;
  int64_t rank = -1;  // kRank only
  std::string node;   // part of the ID after '@', or ""
};

// Properties of a source, in parentheses after its name. They stay in force until they are changed.
struct SourceChange {
  std::optional<std::string> boot;
  std::optional<int64_t> start_ns;       // after the script's zero
  std::optional<int64_t> start_unix_ns;  // replaces start_ns
  std::optional<uint64_t> attempt;
  std::optional<std::string> node;
  std::optional<std::string> owner;
  bool owner_declared = false;
  std::optional<std::vector<std::string>> modes;
  std::optional<int64_t> clock_error_ns;  // positive: the source's clock is ahead
  std::optional<Labels> labels;           // of series without braces
};

struct SeriesValue {
  std::string metric;
  std::optional<Labels> labels;  // nullopt: the labels of the source
  double value = 0;
};

enum class Action {
  kStep,       // row of a step, and the promise for that step
  kSend,       // row without a step
  kBeat,       // only a promise
  kGoodbye,    // the source ends
  kEvent,      // Statement::event
  kTick,       // clock tick of the partition's owner
  kFirstTick,  // first clock tick of a new owner
  kLoadRules,  // Statement::rules
};

// Times are in nanoseconds after the script's zero.
struct Statement {
  std::vector<SourceName> sources;  // empty for the owner's records
  SourceChange change;
  Action action = Action::kBeat;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  int64_t every_ns = 1'000'000'000;
  int64_t count = 1;       // kTick: records per time
  int64_t first_step = 0;  // kStep; the last step is at last_ns
  std::string mode = "train";
  std::vector<SeriesValue> values;
  JobEvent event;     // kEvent; without its time, and without the source of a lost rank
  std::string rules;  // hash of a rule set
  int64_t batch = 1;  // rows per batch
  bool with_schema = true;
  int64_t late_ns = 0;                // delay of the arrival
  std::optional<int64_t> arrival_ns;  // of all records
  std::optional<int64_t> again_ns;    // arrival of a duplicate of each record
  std::optional<int64_t> promise_ns;  // replaces the time of the batch
};

// Parses a script. Returns InvalidArgument with the place and the cause:
// `script:2:14: time must be a duration like 500ms (got "5")`.
StatusOr<std::vector<Statement>> ParseScript(std::string_view text);

}  // namespace pitwall::telemetry_script
