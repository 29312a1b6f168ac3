#include "tests/scenarios/sim.h"

#include <algorithm>

#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"
#include "services/model/value.h"

namespace pitwall::scenarios {

SimSource::SimSource(std::string job, std::string id, std::string boot, SourceInfo info,
                     std::vector<std::string> metrics, Labels labels)
    : job_(std::move(job)),
      id_(std::move(id)),
      boot_(std::move(boot)),
      info_(std::move(info)),
      labels_(std::move(labels)),
      metrics_(std::move(metrics)) {}

void SimSource::Remove(const std::string& metric) {
  std::erase(metrics_, metric);
  schema_due_ = true;
}

Batch SimSource::Base(int64_t time) {
  Batch batch;
  batch.job = job_;
  batch.source = id_;
  batch.boot_id = boot_;
  batch.sequence = ++sequence_;
  batch.info = info_;
  batch.promise = EventTime::FromNs(promises ? time + clock_error_ns : 0);
  return batch;
}

std::string SimSource::Encode(Batch batch, int64_t step, std::string_view mode, bool row,
                              int64_t time) {
  Schema schema;
  for (const std::string& metric : metrics_)
    schema.series.push_back({labels_.With(kMetricName, metric), SeriesKind::kGauge});
  schema.id = SchemaId(0, schema.series);
  const int64_t times[] = {time + clock_error_ns};
  const int64_t steps[] = {step};
  std::vector<double> values;
  for (const std::string& metric : metrics_) {
    const auto it = values_.find(metric);
    values.push_back(it == values_.end() ? MissingValue() : it->second);
  }
  if (row && !metrics_.empty()) {
    if (schema_due_ || sent_ % 10 == 0) batch.schemas.push_back(schema);
    schema_due_ = false;
    ++sent_;
    Frame frame{.schema_id = schema.id, .times = times, .mode = mode, .values = values};
    if (step != kNoStep) frame.steps = steps;
    batch.frames.push_back(frame);
  }
  codec::BatchEncoder encoder;
  std::string bytes;
  encoder.Encode(batch, &bytes);
  return bytes;
}

std::string SimSource::Row(int64_t time, int64_t step, std::string_view mode) {
  return Encode(Base(time), step, mode, true, time);
}
std::string SimSource::Heartbeat(int64_t time) {
  return Encode(Base(time), kNoStep, "", false, time);
}
std::string SimSource::StepDone(int64_t time, std::string_view mode, int64_t step) {
  Batch batch = Base(time);
  batch.step_promises.push_back({std::string(mode), step});
  return Encode(std::move(batch), step, mode, true, time);
}
std::string SimSource::Announce(int64_t time, std::vector<std::string> modes) {
  info_.step_modes = std::move(modes);
  return Heartbeat(time);
}
std::string SimSource::Event(int64_t time, JobEvent event) {
  Batch batch = Base(time);
  event.time = EventTime::FromNs(time);
  batch.events.push_back(std::move(event));
  return Encode(std::move(batch), kNoStep, "", false, time);
}
std::string SimSource::Goodbye(int64_t time) {
  Batch batch = Base(time);
  batch.goodbye = true;
  return Encode(std::move(batch), kNoStep, "", false, time);
}

std::string TickRecord(Duration elapsed) {
  std::string value;
  codec::EncodeControl({.kind = ControlRecord::Kind::kClockTick, .elapsed = elapsed}, &value);
  return value;
}
std::string RulesRecord(const std::string& hash) {
  std::string value;
  codec::EncodeControl({.kind = ControlRecord::Kind::kRuleSetChange, .rule_set_hash = hash},
                       &value);
  return value;
}

void Plan::Add(const SimSource& source, std::string value) {
  records.push_back({now_, source.job(), std::move(value), source.id()});
}
void Plan::Control(std::string value) {
  records.push_back({now_, std::string(kControlKey), std::move(value), ""});
}
void Plan::Run(int seconds, const std::function<void(int64_t now)>& each) {
  for (int s = 0; s < seconds; ++s) {
    now_ += kSecond;
    each(now_);
    Control(TickRecord(Duration::Seconds(1)));
  }
}

}  // namespace pitwall::scenarios
