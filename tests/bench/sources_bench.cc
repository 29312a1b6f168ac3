// Cost of a batch in a job with many sources, and of starting all sources at once.
//
//   sources_bench [BATCHES]    batches per job size (default 100000)
//
// The ranks of one job take turns sending, each once per second: a row, a promise, and a step
// promise. For jobs of 500 to 20,000 sources, prints the CPU time for a source to join (its first
// two batches; the second moves the watermark past its start) and for a later batch. Also prints
// the ratios between the largest and the smallest job, which are the relevant result: a loop over
// all sources at each join or batch would make the ratios about 40.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/engine/job/job.h"
#include "services/engine/program/counters.h"
#include "services/engine/program/limits.h"

namespace pitwall {
namespace {

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

constexpr int64_t kBase = 1'767'225'600 * kNanosPerSecond;

// Returns the CPU time in nanoseconds.
struct Cost {
  double join = 0;   // CPU time per source
  double batch = 0;  // CPU time per batch, once all sources have joined
};

Cost Measure(int64_t sources, int64_t batches) {
  engine::EngineCounters counters;
  engine::EngineOptions options;
  options.check_append_time = false;
  engine::Job job("job", nullptr, options, &counters);
  Schema schema;
  schema.series = {{Labels({{"__name__", "train_loss"}}), SeriesKind::kGauge}};
  schema.id = SchemaId(0, schema.series);
  const SharedSchema shared(schema);
  std::vector<uint64_t> sequences(static_cast<size_t>(sources));
  Batch batch;
  batch.job = "job";
  batch.boot_id = "b";
  batch.info.kind = SourceKind::kRank;
  batch.info.start = EventTime::FromNs(kBase);
  batch.info.step_modes = {"train"};
  int64_t time = 0, step = 0;
  const double value = 1;
  engine::EventSink out;
  const auto send = [&](int64_t round, int64_t rank) {
    batch.source = Cat("rank-", rank);
    batch.info.rank = rank;
    batch.sequence = ++sequences[static_cast<size_t>(rank)];
    batch.schemas.clear();
    if (round == 0) batch.schemas.emplace_back(shared);
    time = kBase + (round + 1) * kNanosPerSecond + rank * (kNanosPerSecond / sources);
    step = round;
    batch.frames = {{schema.id, {&time, 1}, {&step, 1}, "train", {&value, 1}}};
    batch.promise = EventTime::FromNs(time);
    batch.step_promises = {{"train", round}};
    job.OnBatch({}, batch, "", &out);
    out.events.clear();
  };
  Cost cost;
  const double start = CpuSeconds();
  for (int64_t round = 0; round < 2; ++round) {
    for (int64_t rank = 0; rank < sources; ++rank) send(round, rank);
  }
  const double begin = CpuSeconds();
  cost.join = (begin - start) * 1e9 / static_cast<double>(sources);
  int64_t sent = 0;
  for (int64_t round = 2; sent < batches; ++round) {
    for (int64_t rank = 0; rank < sources && sent < batches; ++rank, ++sent) send(round, rank);
  }
  cost.batch = (CpuSeconds() - begin) * 1e9 / static_cast<double>(sent);
  return cost;
}

int Run(int64_t batches) {
  Cost first, last;
  for (const int64_t sources : {500, 1'000, 2'000, 4'000, 9'000, 20'000}) {
    last = Measure(sources, batches);
    if (first.join == 0) first = last;
    std::printf(
        "%6lld sources: %8.0f ns of CPU per joining source, %8.0f ns per batch, %.3f cores\n",
        static_cast<long long>(sources), last.join, last.batch,
        last.batch * static_cast<double>(sources) / 1e9);
  }
  std::printf(
      "in the largest job a join takes %.2f times as long as in the smallest, a batch %.2f\n",
      last.join / first.join, last.batch / first.batch);
  return 0;
}

}  // namespace
}  // namespace pitwall

int main(int argc, char** argv) { return pitwall::Run(argc > 1 ? std::atoll(argv[1]) : 100'000); }
