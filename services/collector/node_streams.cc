#include "services/collector/node_streams.h"

#include "services/collector/readers/system/system_readers.h"

namespace pitwall::collector {
namespace {

constexpr uint32_t kSystemStream = 1;
constexpr uint32_t kCoreStream = 2;
constexpr uint32_t kGpuStream = 3;
constexpr uint32_t kProcessStream = 4;
constexpr uint32_t kCgroupStream = 5;
constexpr int64_t kSchemaRepeatNs = 5 * kNanosPerSecond;

}  // namespace

SharedStreams::SharedStreams(const ReaderContext& context, const Clock& clock,
                             const MonotonicEventClock& time)
    : system_(kSystemStream, NewSystemReaders({context, &clock, &time, &driver_counters_})),
      cores_(kCoreStream, ListReaders(NewCpuReader(context))) {}

void SharedStreams::Sample(int64_t tick_ns) {
  system_.Sample(tick_ns);
  cores_.Sample(tick_ns);
}

void SharedStreams::Clear() {
  system_.Clear();
  cores_.Clear();
}

JobStreams::JobStreams(bool has_cores)
    : gpus_{StreamTable(kGpuStream, {})},
      processes_{StreamTable(kProcessStream, {})},
      cgroup_{StreamTable(kCgroupStream, {})},
      has_cores_(has_cores) {}

void JobStreams::SetCores(bool on) {
  withdraw_cores_ = has_cores_ && !on;
  has_cores_ = on;
}

void JobStreams::Sample(int64_t tick_ns) {
  gpus_.table.Sample(tick_ns);
  processes_.table.Sample(tick_ns);
  cgroup_.table.Sample(tick_ns);
}

void JobStreams::AppendTo(const SharedStreams& shared, int64_t tick_ns, Batch* batch) {
  const bool repeat = tick_ns - schemas_sent_ns_ >= kSchemaRepeatNs;
  if (repeat) schemas_sent_ns_ = tick_ns;
  shared.system().AppendTo(repeat, &announced_system_, batch);
  if (has_cores_) shared.cores().AppendTo(repeat, &announced_cores_, batch);
  for (OwnStream* stream : {&gpus_, &processes_, &cgroup_})
    stream->table.AppendTo(repeat, &stream->announced, batch);
  if (!std::exchange(withdraw_cores_, false)) return;
  // A row whose schema has no series marks the end of the series.
  withdrawn_ns_ = tick_ns;
  batch->schemas.push_back(Schema{SchemaId(kCoreStream, {}), kCoreStream, {}});
  batch->frames.push_back({batch->schemas.back()->id, {&withdrawn_ns_, 1}, {}, {}, {}});
  announced_cores_ = batch->schemas.back()->id;
}

void JobStreams::Clear() {
  gpus_.table.Clear();
  processes_.table.Clear();
  cgroup_.table.Clear();
}

}  // namespace pitwall::collector
