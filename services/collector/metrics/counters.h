// The collector's own counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "services/codec/steps/step_series.h"
#include "services/collector/metrics/refusal.h"
#include "services/self_metrics/probe.h"

namespace pitwall::collector {

// Atomic values that any thread may update and read. All values except gauges only increase.
struct Counters {
  using Number = std::atomic<uint64_t>;

  // ---- Sampler.
  Number ticks{0};
  Number ticks_missed{0};    // multiples of the interval without a tick
  Number boots{0};           // 1, plus 1 for each forward step of the wall clock
  Number clock_behind{0};    // gauge: 1 while the wall clock is behind by more than a second
  Number read_errors{0};     // system files that could not be read or parsed
  Number nvml_errors{0};     // failed GPU readings
  Number drop_files_bad{0};  // invalid files in the drop folder
  Number jobs{0};            // gauge: bound jobs

  // ---- Clients.
  Number clients{0};  // gauge: connected clients
  Number clients_accepted{0};
  Number clients_refused{0};    // over the connection limit of all clients or of one owner
  Number clients_malformed{0};  // closed because of malformed data
  Number clients_held{0};       // paused because their owner sends too fast
  Number clients_lost{0};       // disconnected without a goodbye
  Number client_messages{0};
  Number client_updates_missed{0};    // gaps in the sequences of clients' updates
  Number client_updates_repeated{0};  // resent updates that were already known
  Number client_drops{0};             // drops reported by clients
  Number late_hellos{0};  // hellos after the collector's promise had passed the client's start
  std::array<Number, steps::kDrops> step_drops{};

  // ---- Captures.
  Number captures_begun{0};      // captures of jobs with ranks on this node
  Number captures_by_client{0};  // captured ranks, by the source of the answer
  Number captures_by_system{0};
  Number captures_gone{0};     // ranks whose process ended during the capture
  Number captures_refused{0};  // expired or excess requests, and answers that are too long
  Number captures_unasked{0};  // unexpected answers

  // ---- Publisher.
  Number batches{0};
  Number records_published{0};
  Number bytes_published{0};
  Number append_failures{0};
  Number lanes_failing{0};  // gauge
  Number records_spooled{0};
  Number dropped_spool_full{0};
  Number dropped_queue_full{0};
  Number dropped_refused{0};  // rejected permanently by the log: too large or not allowed
  Number dropped_damaged{0};  // records that were damaged in the spool
  Number dropped_at_stop{0};
  Number spool_bytes{0};  // gauge, like all values below
  Number spool_records{0};
  Number queue_bytes{0};

  // Refusals by reason (Refusal) and class of the owner (OwnerClass).
  static constexpr std::array<std::string_view, 4> kOwnerClasses = {"root", "user", "pod",
                                                                    "unknown"};
  std::array<std::array<Number, kOwnerClasses.size()>, kRefusals> refusals{};
  void CountRefused(Refusal why, std::string_view owner_class);

  // Adds the metrics pitwall_collector_*. The counters must outlive the probe.
  void AddMetrics(self_metrics::Probe* probe) const;
};

}  // namespace pitwall::collector
