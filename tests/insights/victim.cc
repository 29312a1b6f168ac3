// insights_victim LOG STORE: keeps the history of an embedded log until it is killed, or has read
// and sealed all of it. Seals as often as it can.
#include <cstdio>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/log/embedded_log.h"
#include "services/insights/keep/keep.h"

int main(int argc, char** argv) {
  using namespace pitwall;
  if (argc != 3) return 2;
  clock::SystemClock clock;
  log::EmbeddedLogOptions log_options;
  log_options.dir = argv[1];
  log_options.background = false;
  auto log = log::OpenEmbeddedLog(log_options, &clock);
  if (!log.ok()) return 3;
  insights::KeepOptions options;
  options.dir = argv[2];
  options.save_interval_ns = 0;
  options.grace_ns = 0;
  options.memory_bytes = 100'000;  // presses all the time
  auto keep = insights::Keep::Open(&clock, log->get(), options);
  if (!keep.ok() || !(*keep)->Start().ok()) return 4;
  const auto pause = clock.NewWakeup();
  for (int i = 0; i < 6000 && !(*keep)->Ready().ok(); ++i) pause->Wait(10 * kNanosPerMilli);
  (*keep)->Stop();
  return (*keep)->Ready().ok() && (*keep)->Health().ok() ? 0 : 5;
}
