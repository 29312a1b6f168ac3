// Counters of the collector about itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/codec/steps/step_series.h"
#include "services/collector/metrics/refusal.h"
#include "services/model/labels.h"

namespace pitwall::collector {

// One number of our own, for /metrics.
struct CounterValue {
  std::string name;       // pitwall_collector_…
  std::string_view help;  // static
  std::vector<Label> labels;
  double value = 0;
  bool monotonic = true;  // a counter, else a gauge
};

// Plain numbers that any thread may add to and read. They live as long as the collector and only
// grow, gauges aside.
struct Counters {
  using Number = std::atomic<uint64_t>;

  // Sampler.
  Number ticks{0};
  Number ticks_missed{0};    // multiples of the interval at which nobody was awake
  Number boots{0};           // 1, and one more each time the wall clock went forward
  Number clock_behind{0};    // gauge: 1 while the wall clock is back by more than a second
  Number read_errors{0};     // files of the system that could not be read or understood
  Number nvml_errors{0};     // readings of a GPU that failed
  Number drop_files_bad{0};  // files in the drop folder that could not be used
  Number jobs{0};            // gauge: bound now

  // Clients.
  Number clients{0};  // gauge: connected now
  Number clients_accepted{0};
  Number clients_refused{0};    // beyond the connections of all, or of its owner
  Number clients_malformed{0};  // closed for what they sent
  Number clients_held{0};       // read more slowly, since their owner sends too fast
  Number clients_lost{0};       // gone without goodbye
  Number client_messages{0};
  Number client_updates_missed{0};    // holes in the sequence of a client's updates
  Number client_updates_repeated{0};  // sent again, and known
  Number client_drops{0};             // what clients say that they dropped
  Number late_hellos{0};              // said hello after our own promise had passed their start
  std::array<Number, steps::kDrops> step_drops{};

  // Captures.
  Number captures_begun{0};      // jobs of which ranks are here
  Number captures_by_client{0};  // ranks, by who answered
  Number captures_by_system{0};
  Number captures_gone{0};     // ranks whose process ended meanwhile
  Number captures_refused{0};  // requests that expired or are too many, answers that are too long
  Number captures_unasked{0};  // answers that nobody asked for

  // Publisher.
  Number batches{0};
  Number records_published{0};
  Number bytes_published{0};
  Number append_failures{0};
  Number lanes_failing{0};  // gauge
  Number records_spooled{0};
  Number dropped_spool_full{0};
  Number dropped_queue_full{0};
  Number dropped_refused{0};  // the log will never take them: too large, or not allowed
  Number dropped_damaged{0};  // damaged in the spool
  Number dropped_at_stop{0};
  Number spool_bytes{0};  // gauges
  Number spool_records{0};
  Number queue_bytes{0};

  // By why (Refusal) and class of owner (OwnerClass).
  static constexpr std::array<std::string_view, 4> kOwnerClasses = {"root", "user", "pod",
                                                                    "unknown"};
  std::array<std::array<Number, kOwnerClasses.size()>, kRefusals> refusals{};
  void CountRefused(Refusal why, std::string_view owner_class);

  std::vector<CounterValue> List() const;
};

}  // namespace pitwall::collector
