#include "pitwall/telemetry/v1/telemetry.pb.h"
#include "services/base/wrapping.h"
#include "services/codec/telemetry_codec.h"

namespace pitwall::codec {
namespace {

namespace pb = ::pitwall::telemetry::v1;

void EncodeInfo(const SourceInfo& info, pb::SourceInfo* out) {
  switch (info.kind) {
    case SourceKind::kNode:
      out->set_kind(pb::SOURCE_KIND_NODE);
      break;
    case SourceKind::kRank:
      out->set_kind(pb::SOURCE_KIND_RANK);
      out->set_rank(static_cast<uint32_t>(info.rank));
      break;
    case SourceKind::kForeign:
      out->set_kind(pb::SOURCE_KIND_FOREIGN);
      break;
  }
  out->set_node(info.node);
  out->set_start_unix_ns(info.start.ns());
  if (info.attempt.has_value()) out->set_attempt(*info.attempt);
  out->set_interval_ns(info.interval.ns());
  for (const std::string& mode : info.step_modes) out->add_step_modes(mode);
}

void EncodeSchema(const Schema& schema, pb::Schema* out) {
  out->set_id(schema.id);
  out->set_stream(schema.stream);
  for (const SeriesDescriptor& series : schema.series) {
    pb::SeriesDescriptor* descriptor = out->add_series();
    for (const Label& label : series.labels) {
      if (label.name == kMetricName) {
        descriptor->set_metric(label.value);
        continue;
      }
      pb::Label* l = descriptor->add_labels();
      l->set_name(label.name);
      l->set_value(label.value);
    }
    descriptor->set_kind(series.kind == SeriesKind::kCounter ? pb::SERIES_KIND_COUNTER
                                                             : pb::SERIES_KIND_GAUGE);
  }
}

// Differences may wrap around; the decoder rejects them.
void EncodeFrame(const Frame& frame, pb::Frame* out) {
  out->set_schema_id(frame.schema_id);
  out->set_mode(frame.mode.data(), frame.mode.size());
  int64_t before = 0;
  out->mutable_time_deltas_ns()->Reserve(static_cast<int>(frame.times.size()));
  for (int64_t time : frame.times) {
    out->add_time_deltas_ns(Minus(time, before));
    before = time;
  }
  before = 0;
  for (int64_t step : frame.steps) {
    const int64_t shifted = Minus(step, -1);  // kNoStep becomes 0
    out->add_step_deltas(Minus(shifted, before));
    before = shifted;
  }
  out->mutable_values()->Add(frame.values.begin(), frame.values.end());
}

void EncodeSpan(const Span& span, pb::Span* out) {
  switch (span.kind) {
    case Span::Kind::kStep:
      out->set_kind(pb::SPAN_KIND_STEP);
      break;
    case Span::Kind::kPhase:
      out->set_kind(pb::SPAN_KIND_PHASE);
      break;
    case Span::Kind::kOperator:
      out->set_kind(pb::SPAN_KIND_OPERATOR);
      break;
  }
  out->set_name(span.name);
  out->set_start_unix_ns(span.start.ns());
  out->set_duration_ns(Minus(span.end.ns(), span.start.ns()));
  if (span.step != kNoStep) out->set_step(static_cast<uint64_t>(span.step));
  out->set_mode(span.mode);
}

void EncodeEvent(const JobEvent& event, pb::JobEvent* out) {
  switch (event.kind) {
    case JobEvent::Kind::kStarted:
      out->set_kind(pb::JOB_EVENT_KIND_STARTED);
      break;
    case JobEvent::Kind::kEnded:
      out->set_kind(pb::JOB_EVENT_KIND_ENDED);
      break;
    case JobEvent::Kind::kNotice:
      out->set_kind(pb::JOB_EVENT_KIND_NOTICE);
      break;
    case JobEvent::Kind::kRankLost: {
      out->set_kind(pb::JOB_EVENT_KIND_RANK_LOST);
      pb::RankLost* lost = out->mutable_rank_lost();
      lost->set_rank(static_cast<uint32_t>(event.rank_lost.rank));
      lost->set_source(event.rank_lost.source);
      lost->set_boot_id(event.rank_lost.boot_id);
      if (event.rank_lost.signal.has_value()) lost->set_signal(*event.rank_lost.signal);
      if (event.rank_lost.exit_code.has_value()) lost->set_exit_code(*event.rank_lost.exit_code);
      lost->set_oom_killed(event.rank_lost.oom_killed);
      lost->set_exception(event.rank_lost.exception);
      break;
    }
    case JobEvent::Kind::kLauncherGone:
      out->set_kind(pb::JOB_EVENT_KIND_LAUNCHER_GONE);
      break;
  }
  out->set_time_unix_ns(event.time.ns());
  out->set_name(event.name);
  if (event.reference != JobReference{}) {
    pb::JobReference* reference = out->mutable_reference();
    reference->set_platform(event.reference.platform);
    reference->set_cluster(event.reference.cluster);
    reference->set_namespace_(event.reference.namespace_name);
    reference->set_kind(event.reference.kind);
    reference->set_name(event.reference.name);
    reference->set_uid(event.reference.uid);
    reference->set_queue(event.reference.queue);
  }
  for (const Label& label : event.labels) {
    pb::Label* l = out->add_labels();
    l->set_name(label.name);
    l->set_value(label.value);
  }
  out->set_reason(event.reason);
  for (const std::string& series : event.series) out->add_series(series);
}

}  // namespace

struct BatchEncoder::Impl {
  pb::TelemetryRecord record;
};

BatchEncoder::BatchEncoder() : impl_(std::make_unique<Impl>()) {}
BatchEncoder::~BatchEncoder() = default;
BatchEncoder::BatchEncoder(BatchEncoder&&) noexcept = default;
BatchEncoder& BatchEncoder::operator=(BatchEncoder&&) noexcept = default;

void BatchEncoder::Encode(const Batch& batch, std::string* out) {
  pb::TelemetryBatch* message = impl_->record.mutable_batch();
  message->Clear();
  message->set_job(batch.job);
  message->set_source(batch.source);
  message->set_boot_id(batch.boot_id);
  message->set_sequence(batch.sequence);
  message->set_first_sequence(batch.first_sequence);
  EncodeInfo(batch.info, message->mutable_info());
  message->set_promise_unix_ns(batch.promise.ns());
  for (const Schema& schema : batch.schemas) EncodeSchema(schema, message->add_schemas());
  for (const Frame& frame : batch.frames) EncodeFrame(frame, message->add_frames());
  for (const Span& span : batch.spans) EncodeSpan(span, message->add_spans());
  for (const JobEvent& event : batch.events) EncodeEvent(event, message->add_job_events());
  for (const StepPromise& promise : batch.step_promises) {
    pb::StepPromise* p = message->add_step_promises();
    p->set_mode(promise.mode);
    p->set_step(static_cast<uint64_t>(promise.step));
  }
  message->set_goodbye(batch.goodbye);
  message->set_owner(batch.owner);
  message->set_owner_declared(batch.owner_declared);
  // The messages have no maps, so serialization is deterministic.
  impl_->record.SerializeToString(out);
}

void EncodeBatch(const Batch& batch, std::string* out) { BatchEncoder().Encode(batch, out); }

void EncodeControl(const ControlRecord& control, std::string* out) {
  pb::TelemetryRecord record;
  switch (control.kind) {
    case ControlRecord::Kind::kClockTick:
      record.mutable_control()->mutable_clock_tick()->set_elapsed_ns(control.elapsed.ns());
      break;
    case ControlRecord::Kind::kRuleSetChange:
      record.mutable_control()->mutable_rule_set_change()->set_hash(control.rule_set_hash);
      break;
  }
  record.SerializeToString(out);
}

}  // namespace pitwall::codec
