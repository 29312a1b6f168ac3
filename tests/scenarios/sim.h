// Simulated job for the scenarios of time-model.md, section 9: sources with their own clocks, a
// virtual one-second timer, and the log records that collectors and the partition's owner would
// have written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/time.h"
#include "services/model/telemetry.h"

namespace pitwall::scenarios {

struct PlannedRecord {
  int64_t append_time_ns = 0;
  std::string key;
  std::string value;
  std::string source;  // "" for control records
};

inline constexpr int64_t kSecond = kNanosPerSecond;

// A simulated source. The test sets values, and every frame contains the current values.
class SimSource {
 public:
  SimSource(std::string job, std::string id, std::string boot, SourceInfo info,
            std::vector<std::string> metrics, Labels labels);

  void Set(const std::string& metric, double value) { values_[metric] = value; }
  void Remove(const std::string& metric);  // sends a new schema without the metric
  // Returns a batch with one row of the current values at `time` (shifted by the source's clock
  // error) and a promise for that time. `step` and `mode` identify the row's step. The first batch
  // and every tenth contain the schema.
  std::string Row(int64_t time, int64_t step = kNoStep, std::string_view mode = "");
  // Returns a batch that contains only a promise.
  std::string Heartbeat(int64_t time);
  std::string StepDone(int64_t time, std::string_view mode,
                       int64_t step);  // row and step promise in a single batch
  std::string Announce(int64_t time, std::vector<std::string> modes);
  std::string Event(int64_t time, JobEvent event);
  std::string Goodbye(int64_t time);

  const std::string& id() const { return id_; }
  const std::string& boot() const { return boot_; }
  const std::string& job() const { return job_; }
  int64_t clock_error_ns = 0;
  bool alive = true;  // for use by the test
  bool promises = true;

 private:
  Batch Base(int64_t time);
  std::string Encode(Batch batch, int64_t step, std::string_view mode, bool row, int64_t time);

  std::string job_, id_, boot_;
  SourceInfo info_;
  Labels labels_;
  std::vector<std::string> metrics_;
  std::map<std::string, double> values_;
  uint64_t sequence_ = 0;
  uint64_t sent_ = 0;
  bool schema_due_ = true;
};

std::string TickRecord(Duration elapsed);
std::string RulesRecord(const std::string& hash);

// The records of a scenario, in log order.
class Plan {
 public:
  explicit Plan(int64_t base_ns) : now_(base_ns), base_(base_ns) {}
  int64_t now() const { return now_; }
  int64_t base() const { return base_; }
  void Wait(int64_t ns) { now_ += ns; }
  void Add(const SimSource& source, std::string value);
  void Control(std::string value);
  // Repeats `seconds` times: advances by one second, calls `each`, and writes the owner's clock
  // tick.
  void Run(int seconds, const std::function<void(int64_t now)>& each);

  std::vector<PlannedRecord> records;

 private:
  int64_t now_;
  int64_t base_;
};

}  // namespace pitwall::scenarios
