// job_snapshots DIR RULES…: replays the telemetry of an embedded log. After every kEvery records
// and at the end, prints the partition, offset, job, format, length, and hash of each job's
// snapshot. Two builds with the same output have byte-identical snapshots (tests/equal.sh).
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/app/config/rule_files.h"
#include "services/base/text/stable_hash.h"
#include "services/base/time.h"
#include "services/engine/shard.h"
#include "services/io/topics.h"

namespace pitwall {
namespace {

constexpr int64_t kEvery = 20;  // records

void Print(const engine::Shard& shard, int32_t partition, int64_t offset) {
  for (const engine::Job* job : shard.jobs().All()) {
    const engine::JobSnapshot snapshot =
        shard.Snapshot(job->state().identity.id, LogOffset(offset));
    std::printf("%d %" PRId64 " %s %u %zu %s\n", partition, offset, snapshot.job.c_str(),
                snapshot.format, snapshot.payload.size(), StableHashHex(snapshot.payload).c_str());
  }
}

Status Replay(Log* log, int32_t partition, engine::RuleSetProvider* rules) {
  engine::Shard shard(rules, engine::EngineOptions());
  RETURN_IF_ERROR(shard.SetInitialRules("given"));
  ASSIGN_OR_RETURN(const auto reader,
                   log->OpenReader({std::string(kTelemetryTopic), partition}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  engine::EventSink events;
  int64_t applied = 0, next = 0;
  std::vector<Record> records;
  while (reader->position() < end) {
    records.clear();
    RETURN_IF_ERROR(reader->Poll(2000, 8 << 20, Duration::Seconds(1), &records));
    for (const Record& record : records) {
      RETURN_IF_ERROR(shard.Apply(LogOffset(record.offset), record.append_time, record.key,
                                  record.value, &events));
      events = {};
      next = record.offset + 1;
      if (++applied % kEvery == 0) Print(shard, partition, next);
    }
  }
  Print(shard, partition, next);
  return OkStatus();
}

Status Run(const std::string& dir, const std::vector<std::string>& rules) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(
      const auto log,
      log::OpenEmbeddedLog({.dir = dir + "/log", .read_only = true, .salvage = true}, &clock));
  ASSIGN_OR_RETURN(auto compiled,
                   CompileNewRules({.files = rules}, RuleSet().evaluation_interval.ns(),
                                   plan::CompileOptions()));
  engine::FixedRules fixed(std::move(compiled));
  ASSIGN_OR_RETURN(const int32_t partitions, log->Partitions(kTelemetryTopic));
  for (int32_t p = 0; p < partitions; ++p) RETURN_IF_ERROR(Replay(log.get(), p, &fixed));
  return OkStatus();
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const pitwall::Status status = pitwall::Run(argv[1], {argv + 2, argv + argc});
  if (!status.ok()) std::fprintf(stderr, "job_snapshots: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
