// Victim process that builds the history of a log until it is killed, and seals as often as
// possible.
#pragma once

#include <memory>
#include <string>

#include "services/adapters/clock/system_clock.h"
#include "services/history/ingest/history_service.h"

namespace pitwall::history {

// `topics` is the prefix of the telemetry, issues, actions, and captures topics.
inline HistoryOptions VictimOptions(const std::string& store, const std::string& topics) {
  HistoryOptions options;
  options.dir = store;
  options.topics.telemetry = topics + options.topics.telemetry;
  options.topics.issues = topics + options.topics.issues;
  options.topics.actions = topics + options.topics.actions;
  options.topics.captures = topics + options.topics.captures;
  options.save_interval_ns = 0;
  options.grace_ns = 0;
  options.memory_bytes = 100'000;  // simulates constant memory pressure
  return options;
}

// Returns the exit code: 0 after the whole log has been read and sealed.
inline int RunVictim(Clock* clock, Log* log, HistoryOptions options) {
  auto keep = HistoryService::Open(clock, log, std::move(options));
  if (!keep.ok() || !(*keep)->Start().ok()) return 4;
  const auto pause = clock->NewWakeup();
  for (int i = 0; i < 6000 && !(*keep)->Ready().ok(); ++i) pause->Wait(10 * kNanosPerMilli);
  (*keep)->Stop();
  return (*keep)->Ready().ok() && (*keep)->Health().ok() ? 0 : 5;
}

}  // namespace pitwall::history
