// Records of a scenario of time-model.md, section 9, in log order: the records that collectors,
// ranks, and the partition's owner would have written.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/telemetry_script/scripted_sources.h"

namespace pitwall::scenarios {

using telemetry_script::ScriptRecord;

inline constexpr int64_t kSecond = kNanosPerSecond;
inline const std::string kJob = "job-1";

// Returns a rule file whose group g evaluates the rules every second.
inline std::string EverySecond(std::string_view rules) {
  return Cat("groups:\n- name: g\n  interval: 1s\n  rules:", rules);
}
// Returns a group of rules on the step clock of a mode.
inline std::string EachStep(std::string_view mode, std::string_view rules) {
  return Cat("- name: ", mode, "\n  clock: step\n  mode: ", mode,
             "\n  interval: 1\n  rules:", rules);
}

class Plan {
 public:
  // `base_ns` is the zero of all scripts, in Unix nanoseconds.
  explicit Plan(int64_t base_ns, std::string job = kJob)
      : sources_(std::move(job)), base_(base_ns) {}

  int64_t base() const { return base_; }
  // Appends the records of a telemetry script (tests/telemetry_script).
  void Play(std::string_view script) {
    std::vector<ScriptRecord> more = sources_.Play(script, base_);
    records.insert(records.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  }

  std::vector<ScriptRecord> records;

 private:
  telemetry_script::ScriptedSources sources_;
  int64_t base_;
};

}  // namespace pitwall::scenarios
