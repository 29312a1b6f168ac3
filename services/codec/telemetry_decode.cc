#include <algorithm>
#include <vector>

#include "pitwall/telemetry/v1/telemetry.pb.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/quiet_protobuf.h"
#include "services/codec/schema_cache.h"
#include "services/codec/telemetry_codec.h"
#include "services/model/sanitize_text.h"

namespace pitwall::codec {
namespace {

namespace pb = ::pitwall::telemetry::v1;

template <typename... T>
Status Bad(const T&... parts) {
  return InvalidArgument(Cat(parts...));
}

// Returns `status` with the prefix "list[index]: ", which is formatted only if there is an error.
Status At(const char* list, size_t index, const Status& status) {
  return status.ok() ? status : Annotate(status, Cat(list, "[", index, "]"));
}

Status CheckLength(std::string_view what, std::string_view text, size_t limit) {
  if (text.size() > limit) return Bad(what, " has ", text.size(), " bytes; the limit is ", limit);
  return OkStatus();
}

// Rejects text that is too long or contains control characters.
Status CheckText(std::string_view what, std::string_view text, size_t limit) {
  RETURN_IF_ERROR(CheckLength(what, text, limit));
  if (HasControl(text))
    return Bad(what, " ", Quote(TerminalLine(text)), " has a control character");
  return OkStatus();
}

// Rejects a name that is empty, too long, or contains control characters. (protobuf has already
// checked the UTF-8.)
Status CheckName(std::string_view what, std::string_view text, size_t limit) {
  if (text.empty()) return Bad(what, " is empty");
  return CheckText(what, text, limit);
}

template <typename List>
Status CheckCount(std::string_view what, const List& list, size_t limit) {
  const auto size = static_cast<size_t>(list.size());
  if (size > limit) return Bad("too many ", what, " (got ", size, ", limit ", limit, ")");
  return OkStatus();
}

}  // namespace

struct BatchDecoder::Impl {
  DecodeLimits limits;
  pb::TelemetryRecord record;
  SchemaCache known;
  std::string rest;                     // the record without its schemas
  std::vector<std::string_view> found;  // encoded schemas, pointing into the record's bytes
  pb::Schema schema;
  Batch batch;
  ControlRecord control;
  std::vector<int64_t> times;  // times of all frames, concatenated
  std::vector<int64_t> steps;
  std::vector<const Labels*> sorted;

  Status DecodeBatch(const pb::TelemetryBatch& in);
  Status DecodeSchemas(const pb::TelemetryBatch& in);
  Status DecodeInfo(const pb::SourceInfo& in);
  Status DecodeSeries(const pb::SeriesDescriptor& in, SeriesDescriptor* out) const;
  Status DecodeSchema(const pb::Schema& in, Schema* out);
  Status DecodeFrames(const pb::TelemetryBatch& in);
  Status DecodeFrame(const pb::Frame& in, int64_t* times_out, int64_t* steps_out, Frame* out) const;
  Status DecodeSpan(const pb::Span& in, Span* out) const;
  Status DecodeRankLost(const pb::RankLost& in, RankLost* out) const;
  Status DecodeEvent(const pb::JobEvent& in, JobEvent* out) const;
  Status DecodeStepPromise(const pb::StepPromise& in, StepPromise* out) const;
  Status DecodeControl(const pb::ControlRecord& in);
};

Status BatchDecoder::Impl::DecodeInfo(const pb::SourceInfo& in) {
  SourceInfo& out = batch.info;
  switch (in.kind()) {
    case pb::SOURCE_KIND_NODE:
      out.kind = SourceKind::kNode;
      break;
    case pb::SOURCE_KIND_RANK:
      out.kind = SourceKind::kRank;
      break;
    case pb::SOURCE_KIND_FOREIGN:
      out.kind = SourceKind::kForeign;
      break;
    default:
      return Bad("info: unknown kind of source ", static_cast<int>(in.kind()));
  }
  if (out.kind == SourceKind::kRank && !in.has_rank())
    return Bad("info: a rank source needs a rank");
  RETURN_IF_ERROR(CheckText("info: node", in.node(), limits.name_bytes));
  out.node = in.node();
  out.rank = out.kind == SourceKind::kRank ? static_cast<int64_t>(in.rank()) : -1;
  out.start = EventTime::FromNs(in.start_unix_ns());
  out.attempt.reset();
  if (in.has_attempt()) out.attempt = in.attempt();
  if (in.interval_ns() < 0) return Bad("info: negative interval ", in.interval_ns());
  out.interval = Duration::Nanos(in.interval_ns());
  RETURN_IF_ERROR(CheckCount("step modes", in.step_modes(), limits.step_modes));
  out.step_modes.clear();
  for (const std::string& mode : in.step_modes()) {
    RETURN_IF_ERROR(CheckName("info: step mode", mode, limits.name_bytes));
    out.step_modes.push_back(mode);
  }
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeSeries(const pb::SeriesDescriptor& in,
                                        SeriesDescriptor* out) const {
  RETURN_IF_ERROR(CheckName("metric", in.metric(), limits.name_bytes));
  RETURN_IF_ERROR(CheckCount("labels", in.labels(), limits.labels_per_series));
  std::vector<Label> labels;
  labels.reserve(static_cast<size_t>(in.labels_size()) + 1);
  labels.push_back({std::string(kMetricName), in.metric()});
  for (const pb::Label& label : in.labels()) {
    RETURN_IF_ERROR(CheckName("label name", label.name(), limits.name_bytes));
    if (label.name() == kMetricName)
      return Bad("__name__ is among the labels of ", Quote(in.metric()));
    if (label.value().empty()) return Bad("label ", Quote(label.name()), " has an empty value");
    RETURN_IF_ERROR(CheckLength("label value", label.value(), limits.value_bytes));
    labels.push_back({label.name(), label.value()});
  }
  const size_t given = labels.size();
  out->labels = Labels::FromPairs(std::move(labels));
  if (out->labels.size() != given) return Bad("a label appears twice in ", out->labels.ToString());
  switch (in.kind()) {
    case pb::SERIES_KIND_GAUGE:
      out->kind = SeriesKind::kGauge;
      return OkStatus();
    case pb::SERIES_KIND_COUNTER:
      out->kind = SeriesKind::kCounter;
      return OkStatus();
    default:
      return Bad("unknown kind of series ", static_cast<int>(in.kind()));
  }
}

Status BatchDecoder::Impl::DecodeSchema(const pb::Schema& in, Schema* out) {
  out->id = in.id();
  out->stream = in.stream();
  RETURN_IF_ERROR(CheckCount("series", in.series(), limits.series_per_schema));
  out->series.resize(static_cast<size_t>(in.series_size()));
  for (size_t i = 0; i < out->series.size(); ++i) {
    RETURN_IF_ERROR(At("series", i, DecodeSeries(in.series(static_cast<int>(i)), &out->series[i])));
  }
  const uint64_t expected = SchemaId(out->stream, out->series);
  if (out->id != expected) {
    return Bad("schema id ", absl::Hex(out->id), " is not that of its series (",
               absl::Hex(expected), ")");
  }
  for (SeriesDescriptor& series : out->series) series.labels = SanitizeText(series.labels);
  sorted.clear();
  for (const SeriesDescriptor& series : out->series) sorted.push_back(&series.labels);
  std::sort(sorted.begin(), sorted.end(), [](const Labels* a, const Labels* b) { return *a < *b; });
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end(),
                                       [](const Labels* a, const Labels* b) { return *a == *b; });
  if (twin != sorted.end())
    return Bad("series ", (*twin)->ToString(), " appears twice in a schema");
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeSchemas(const pb::TelemetryBatch& in) {
  batch.schemas.clear();
  if (in.schemas_size() > 0)
    return Bad(
        "the batch is split into several parts");  // TakeSchemas accepts only a batch in one part
  RETURN_IF_ERROR(CheckCount("schemas", found, limits.schemas));
  for (size_t i = 0; i < found.size(); ++i) {
    std::shared_ptr<const Schema> decoded = known.Find(found[i]);
    if (decoded == nullptr) {
      if (!schema.ParseFromArray(found[i].data(), static_cast<int>(found[i].size())))
        return Bad("schemas[", i, "]: damaged or not valid UTF-8");
      auto fresh = std::make_shared<Schema>();
      RETURN_IF_ERROR(At("schemas", i, DecodeSchema(schema, fresh.get())));
      decoded = std::move(fresh);
      known.Add(found[i], decoded);
    }
    for (size_t k = 0; k < i; ++k) {
      if (batch.schemas[k]->id == decoded->id)
        return Bad("schemas[", i, "] is a duplicate of schemas[", k, "]");
    }
    batch.schemas.emplace_back(std::move(decoded));
  }
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeFrame(const pb::Frame& in, int64_t* times_out, int64_t* steps_out,
                                       Frame* out) const {
  const auto ticks = static_cast<size_t>(in.time_deltas_ns_size());
  const int64_t* deltas = in.time_deltas_ns().data();
  int64_t at = 0;
  for (size_t i = 0; i < ticks; ++i) {
    if (i > 0 && deltas[i] <= 0) {
      return Bad("times are not ascending: tick ", i, " is ", deltas[i],
                 " ns after the previous one");
    }
    if (__builtin_add_overflow(at, deltas[i], &at))
      return Bad("the time of tick ", i, " overflows");
    times_out[i] = at;
  }
  const auto steps_count = static_cast<size_t>(in.step_deltas_size());
  if (steps_count != 0 && steps_count != ticks)
    return Bad("has ", steps_count, " steps for ", ticks, " ticks");
  if (steps_count != 0) {
    if (in.mode().empty()) return Bad("steps have no mode");
    const int64_t* step_deltas = in.step_deltas().data();
    int64_t shifted = 0;
    for (size_t i = 0; i < steps_count; ++i) {
      if (__builtin_add_overflow(shifted, step_deltas[i], &shifted))
        return Bad("the step of tick ", i, " overflows");
      if (shifted < 0) return Bad("the step of tick ", i, " is negative");
      steps_out[i] = shifted - 1;  // 0 becomes kNoStep
    }
  }
  if (!in.mode().empty()) RETURN_IF_ERROR(CheckName("mode", in.mode(), limits.name_bytes));
  const auto values = static_cast<size_t>(in.values_size());
  const auto of_frame = std::find_if(batch.schemas.begin(), batch.schemas.end(),
                                     [&](const Schema& s) { return s.id == in.schema_id(); });
  if (of_frame != batch.schemas.end()) {
    // The limits bound both factors, so the product fits in 64 bits.
    const size_t series = (*of_frame)->series.size();
    if (values != ticks * series) {
      return Bad("has ", values, " values for ", ticks, " ticks of ", series, " series");
    }
  } else if (ticks == 0 ? values != 0 : values % ticks != 0) {
    return Bad(values, " values are not a multiple of ", ticks, " ticks");
  }
  out->schema_id = in.schema_id();
  out->times = {times_out, ticks};
  out->steps = {steps_out, steps_count};
  out->mode = in.mode();
  out->values = {in.values().data(), values};
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeFrames(const pb::TelemetryBatch& in) {
  RETURN_IF_ERROR(CheckCount("frames", in.frames(), limits.frames));
  size_t ticks = 0;
  size_t step_count = 0;
  for (int i = 0; i < in.frames_size(); ++i) {
    const pb::Frame& frame = in.frames(i);
    RETURN_IF_ERROR(At("frames", static_cast<size_t>(i),
                       CheckCount("ticks", frame.time_deltas_ns(), limits.ticks_per_frame)));
    ticks += static_cast<size_t>(frame.time_deltas_ns_size());
    step_count += static_cast<size_t>(frame.step_deltas_size());
  }
  // The buffers are resized only once, so that the spans into them remain valid.
  times.resize(ticks);
  steps.resize(step_count);
  batch.frames.resize(static_cast<size_t>(in.frames_size()));
  int64_t* next_time = times.data();
  int64_t* next_step = steps.data();
  for (size_t i = 0; i < batch.frames.size(); ++i) {
    const pb::Frame& frame = in.frames(static_cast<int>(i));
    RETURN_IF_ERROR(At("frames", i, DecodeFrame(frame, next_time, next_step, &batch.frames[i])));
    next_time += frame.time_deltas_ns_size();
    next_step += frame.step_deltas_size();
  }
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeSpan(const pb::Span& in, Span* out) const {
  switch (in.kind()) {
    case pb::SPAN_KIND_STEP:
      out->kind = Span::Kind::kStep;
      break;
    case pb::SPAN_KIND_PHASE:
      out->kind = Span::Kind::kPhase;
      break;
    case pb::SPAN_KIND_OPERATOR:
      out->kind = Span::Kind::kOperator;
      break;
    default:
      return Bad("unknown kind of span ", static_cast<int>(in.kind()));
  }
  RETURN_IF_ERROR(CheckText("name", in.name(), limits.name_bytes));
  RETURN_IF_ERROR(CheckText("mode", in.mode(), limits.name_bytes));
  if (in.duration_ns() < 0) return Bad("negative duration ", in.duration_ns());
  out->name = in.name();
  out->mode = in.mode();
  out->start = EventTime::FromNs(in.start_unix_ns());
  int64_t end;
  if (__builtin_add_overflow(in.start_unix_ns(), in.duration_ns(), &end))
    return Bad("the end overflows");
  out->end = EventTime::FromNs(end);
  out->step = kNoStep;
  if (in.has_step()) {
    if (in.step() > static_cast<uint64_t>(INT64_MAX))
      return Bad("step ", in.step(), " is too large");
    out->step = static_cast<int64_t>(in.step());
  }
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeRankLost(const pb::RankLost& in, RankLost* out) const {
  RETURN_IF_ERROR(CheckName("rank_lost: source", in.source(), limits.name_bytes));
  RETURN_IF_ERROR(CheckName("rank_lost: boot id", in.boot_id(), limits.name_bytes));
  out->rank = in.rank();
  out->source = in.source();
  out->boot_id = in.boot_id();
  // A wait() status has one byte for the signal.
  if (in.has_signal()) {
    if (in.signal() < 0 || in.signal() > 255)
      return Bad("rank_lost: signal ", in.signal(), " is not in 0..255");
    out->signal = in.signal();
  }
  if (in.has_exit_code()) {
    if (in.exit_code() < 0 || in.exit_code() > 255)
      return Bad("rank_lost: exit code ", in.exit_code(), " is not in 0..255");
    out->exit_code = in.exit_code();
  }
  out->oom_killed = in.oom_killed();
  out->exception = SanitizeText(in.exception());
  return CheckLength("rank_lost: exception", in.exception(), limits.value_bytes);
}

Status BatchDecoder::Impl::DecodeEvent(const pb::JobEvent& in, JobEvent* out) const {
  switch (in.kind()) {
    case pb::JOB_EVENT_KIND_STARTED:
      out->kind = JobEvent::Kind::kStarted;
      break;
    case pb::JOB_EVENT_KIND_ENDED:
      out->kind = JobEvent::Kind::kEnded;
      break;
    case pb::JOB_EVENT_KIND_NOTICE:
      out->kind = JobEvent::Kind::kNotice;
      break;
    case pb::JOB_EVENT_KIND_RANK_LOST:
      out->kind = JobEvent::Kind::kRankLost;
      break;
    case pb::JOB_EVENT_KIND_LAUNCHER_GONE:
      out->kind = JobEvent::Kind::kLauncherGone;
      break;
    default:
      return Bad("unknown kind of job event ", static_cast<int>(in.kind()));
  }
  out->rank_lost = {};
  if (in.has_rank_lost() != (out->kind == JobEvent::Kind::kRankLost))
    return Bad("rank_lost belongs to job events of the kind RANK_LOST, and only there");
  if (in.has_rank_lost()) RETURN_IF_ERROR(DecodeRankLost(in.rank_lost(), &out->rank_lost));
  const pb::JobReference& reference = in.reference();
  for (const std::string* text : {&in.name(), &in.reason(), &reference.platform(),
                                  &reference.cluster(), &reference.namespace_(), &reference.kind(),
                                  &reference.name(), &reference.uid(), &reference.queue()}) {
    RETURN_IF_ERROR(CheckLength("text", *text, limits.value_bytes));
    if (text != &in.name() && text != &in.reason())
      RETURN_IF_ERROR(CheckText("reference", *text, limits.value_bytes));
  }
  out->time = EventTime::FromNs(in.time_unix_ns());
  out->name = SanitizeText(in.name());
  out->reference = {reference.platform(), reference.cluster(), reference.namespace_(),
                    reference.kind(),     reference.name(),    reference.uid(),
                    reference.queue()};
  RETURN_IF_ERROR(CheckCount("labels", in.labels(), limits.labels_per_event));
  out->labels.clear();
  for (const pb::Label& label : in.labels()) {
    RETURN_IF_ERROR(CheckName("label name", label.name(), limits.name_bytes));
    RETURN_IF_ERROR(CheckLength("label value", label.value(), limits.value_bytes));
    out->labels.push_back({label.name(), SanitizeText(label.value())});
  }
  out->reason = SanitizeText(in.reason());
  RETURN_IF_ERROR(CheckCount("series", in.series(), limits.series_per_event));
  out->series.clear();
  for (const std::string& series : in.series()) {
    RETURN_IF_ERROR(CheckLength("series", series, limits.name_bytes));
    out->series.push_back(SanitizeText(series));
  }
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeStepPromise(const pb::StepPromise& in, StepPromise* out) const {
  RETURN_IF_ERROR(CheckName("mode", in.mode(), limits.name_bytes));
  if (in.step() > static_cast<uint64_t>(INT64_MAX)) return Bad("step ", in.step(), " is too large");
  out->mode = in.mode();
  out->step = static_cast<int64_t>(in.step());
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeBatch(const pb::TelemetryBatch& in) {
  RETURN_IF_ERROR(CheckName("job", in.job(), limits.name_bytes));
  if (StartsWith(in.job(), "__"))
    return Bad("job ", Quote(in.job()), " must not begin with two underscores");
  RETURN_IF_ERROR(CheckName("source", in.source(), limits.name_bytes));
  RETURN_IF_ERROR(CheckName("boot id", in.boot_id(), limits.name_bytes));
  if (in.sequence() == 0) return Bad("sequence 0: sequences must begin with 1");
  if (in.first_sequence() > in.sequence())
    return Bad("sequence ", in.sequence(), " is below the first, ", in.first_sequence());
  if (!in.has_info()) return Bad("source info is missing");
  batch.job = in.job();
  batch.source = in.source();
  batch.boot_id = in.boot_id();
  batch.sequence = in.sequence();
  batch.first_sequence = in.first_sequence();
  batch.promise = EventTime::FromNs(in.promise_unix_ns());
  batch.goodbye = in.goodbye();
  RETURN_IF_ERROR(CheckText("owner", in.owner(), limits.name_bytes));
  if (in.owner_declared() && in.owner().empty()) return Bad("owner_declared requires an owner");
  batch.owner = in.owner();
  batch.owner_declared = in.owner_declared();
  RETURN_IF_ERROR(DecodeInfo(in.info()));

  RETURN_IF_ERROR(DecodeSchemas(in));
  RETURN_IF_ERROR(DecodeFrames(in));
  RETURN_IF_ERROR(CheckCount("spans", in.spans(), limits.spans));
  batch.spans.resize(static_cast<size_t>(in.spans_size()));
  for (size_t i = 0; i < batch.spans.size(); ++i) {
    RETURN_IF_ERROR(At("spans", i, DecodeSpan(in.spans(static_cast<int>(i)), &batch.spans[i])));
  }
  RETURN_IF_ERROR(CheckCount("job events", in.job_events(), limits.job_events));
  batch.events.resize(static_cast<size_t>(in.job_events_size()));
  for (size_t i = 0; i < batch.events.size(); ++i) {
    RETURN_IF_ERROR(
        At("job_events", i, DecodeEvent(in.job_events(static_cast<int>(i)), &batch.events[i])));
  }
  RETURN_IF_ERROR(CheckCount("step promises", in.step_promises(), limits.step_modes));
  batch.step_promises.resize(static_cast<size_t>(in.step_promises_size()));
  for (size_t i = 0; i < batch.step_promises.size(); ++i) {
    RETURN_IF_ERROR(
        At("step_promises", i,
           DecodeStepPromise(in.step_promises(static_cast<int>(i)), &batch.step_promises[i])));
  }
  return OkStatus();
}

Status BatchDecoder::Impl::DecodeControl(const pb::ControlRecord& in) {
  switch (in.kind_case()) {
    case pb::ControlRecord::kClockTick:
      if (in.clock_tick().elapsed_ns() < 0)
        return Bad("control: negative time ", in.clock_tick().elapsed_ns());
      control.kind = ControlRecord::Kind::kClockTick;
      control.elapsed = Duration::Nanos(in.clock_tick().elapsed_ns());
      control.rule_set_hash.clear();
      return OkStatus();
    case pb::ControlRecord::kRuleSetChange:
      RETURN_IF_ERROR(
          CheckName("control: rule set hash", in.rule_set_change().hash(), limits.name_bytes));
      control.kind = ControlRecord::Kind::kRuleSetChange;
      control.elapsed = Duration::Zero();
      control.rule_set_hash = in.rule_set_change().hash();
      return OkStatus();
    case pb::ControlRecord::KIND_NOT_SET:
      break;
  }
  return Bad("control: unknown kind of control record");
}

BatchDecoder::BatchDecoder(const DecodeLimits& limits) : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  QuietProtobuf();
}
BatchDecoder::~BatchDecoder() = default;
BatchDecoder::BatchDecoder(BatchDecoder&&) noexcept = default;
BatchDecoder& BatchDecoder::operator=(BatchDecoder&&) noexcept = default;

StatusOr<DecodedRecord> BatchDecoder::Decode(std::string_view bytes) {
  if (bytes.size() > impl_->limits.record_bytes) {
    return Bad("record has ", bytes.size(), " bytes; the limit is ", impl_->limits.record_bytes);
  }
  // Schemas are long and almost always known, so they are removed before protobuf parses the rest.
  const std::string_view parsed =
      TakeSchemas(bytes, &impl_->rest, &impl_->found) ? std::string_view(impl_->rest) : bytes;
  if (!impl_->record.ParseFromArray(parsed.data(), static_cast<int>(parsed.size()))) {
    return Bad("not a TelemetryRecord: truncated, damaged, or not valid UTF-8 (", bytes.size(),
               " bytes)");
  }
  DecodedRecord out;
  switch (impl_->record.body_case()) {
    case pb::TelemetryRecord::kBatch:
      RETURN_IF_ERROR(impl_->DecodeBatch(impl_->record.batch()));
      out.batch = &impl_->batch;
      return out;
    case pb::TelemetryRecord::kControl:
      RETURN_IF_ERROR(impl_->DecodeControl(impl_->record.control()));
      out.control = &impl_->control;
      return out;
    case pb::TelemetryRecord::BODY_NOT_SET:
      break;
  }
  return Bad("neither a batch nor a control record (", bytes.size(), " bytes)");
}

}  // namespace pitwall::codec
