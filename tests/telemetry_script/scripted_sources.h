// Sources of training jobs that send what a telemetry script describes (README.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/model/labels.h"
#include "services/model/telemetry.h"
#include "tests/telemetry_script/script.h"

namespace pitwall::telemetry_script {

// Record of pitwall.telemetry: an encoded batch, or a control record of the partition's owner.
struct ScriptRecord {
  int64_t append_time_ns = 0;
  std::string key;
  std::string value;
  std::string source;  // "" for control records
};

// Writes control records.
std::string ClockTickRecord(Duration elapsed);
std::string RuleSetRecord(const std::string& hash);

// The sources of a log partition. Their properties, boots, and sequence numbers last from one
// script to the next. Not thread-safe.
class ScriptedSources {
 public:
  // Sources without a job in their names belong to `job`.
  explicit ScriptedSources(std::string job = "job") : job_(std::move(job)) {}

  // Returns the records of the script in order of arrival. Records that arrive at the same time
  // keep the order of their statements. `zero_ns` is the script's zero in Unix nanoseconds.
  StatusOr<std::vector<ScriptRecord>> Expand(std::string_view script, int64_t zero_ns);
  // Like Expand, but ends the program if the script is invalid.
  std::vector<ScriptRecord> Play(std::string_view script, int64_t zero_ns);

  // Returns the next sequence number of a boot, for batches that a test builds itself.
  uint64_t NextSequence(std::string_view job, std::string_view source, std::string_view boot);

 private:
  struct Source {
    std::string job;
    std::string id;
    std::string boot = "boot";
    SourceInfo info;
    std::string owner;
    bool owner_declared = false;
    int64_t clock_error_ns = 0;
    Labels labels;
  };
  // One record before it is encoded: the rows at `times`.
  struct Sending {
    const Statement* statement;
    const SourceName* name;  // null for the owner
    int64_t first_row = 0;
    int64_t rows = 1;
    int64_t at_ns = 0;  // of the last row, after zero
  };

  Source& Find(const SourceName& name, int64_t zero_ns);
  static void Change(const Sending& sending, int64_t zero_ns, Source* source);
  static std::vector<Sending> SendingsOf(const std::vector<Statement>& statements);
  ScriptRecord Control(const Sending& sending) const;
  ScriptRecord Encode(const Sending& sending, int64_t zero_ns);
  static void AddEvent(const Sending& sending, const Source& source, int64_t zero_ns, Batch* batch);

  const std::string job_;
  std::map<std::string, Source> sources_;      // by job and ID
  std::map<std::string, uint64_t> sequences_;  // by job, ID, and boot
  codec::BatchEncoder encoder_;
};

}  // namespace pitwall::telemetry_script
