#include "services/collector/ranks/client_update.h"

#include <string_view>

#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr uint64_t kMaxStep = uint64_t{1} << 62;

Status CheckText(std::string_view what, std::string_view text) {
  if (text.size() > kMaxClientText) {
    return InvalidArgument(
        Cat(what, " is ", text.size(), " bytes long; the limit is ", kMaxClientText));
  }
  if (HasControl(text))
    return InvalidArgument(
        Cat(what, " must not contain control characters (got ", Quote(TerminalLine(text)), ")"));
  return OkStatus();
}

Status CheckStep(uint64_t step_plus_one) {
  if (step_plus_one > kMaxStep)
    return InvalidArgument(Cat("step ", step_plus_one, " is too large"));
  return OkStatus();
}

}  // namespace

Status CheckUpdate(const pb::Update& update) {
  for (const pb::Span& span : update.spans()) {
    if (span.kind() < pb::SPAN_KIND_STEP || span.kind() > pb::SPAN_KIND_OPERATOR) {
      return InvalidArgument(Cat("unknown span kind ", static_cast<int>(span.kind())));
    }
    RETURN_IF_ERROR(CheckText("span name", span.name()));
    RETURN_IF_ERROR(CheckText("mode", span.mode()));
    RETURN_IF_ERROR(CheckStep(span.step_plus_one()));
    int64_t end;
    if (span.duration_ns() < 0 ||
        __builtin_add_overflow(span.start_unix_ns(), span.duration_ns(), &end)) {
      return InvalidArgument(Cat("span ", Quote(span.name()), " has an invalid duration (",
                                 span.duration_ns(), " ns)"));
    }
  }
  for (const pb::Value& value : update.values()) {
    RETURN_IF_ERROR(CheckText("metric", value.metric()));
    RETURN_IF_ERROR(CheckText("mode", value.mode()));
    RETURN_IF_ERROR(CheckStep(value.step_plus_one()));
  }
  for (const pb::StepPromise& promise : update.step_promises()) {
    if (promise.mode().empty()) return InvalidArgument("step promise must have a mode");
    RETURN_IF_ERROR(CheckText("mode", promise.mode()));
    RETURN_IF_ERROR(CheckStep(promise.below_step()));
  }
  RETURN_IF_ERROR(CheckText("phase", update.phase()));
  RETURN_IF_ERROR(CheckText("mode", update.mode()));
  return CheckStep(update.step_plus_one());
}

int64_t StepOf(uint64_t step_plus_one) {
  return step_plus_one == 0 ? kNoStep : static_cast<int64_t>(step_plus_one - 1);
}

Span SpanOf(const pb::Span& in) {
  Span span;
  span.kind = in.kind() == pb::SPAN_KIND_STEP    ? Span::Kind::kStep
              : in.kind() == pb::SPAN_KIND_PHASE ? Span::Kind::kPhase
                                                 : Span::Kind::kOperator;
  if (span.kind != Span::Kind::kStep) span.name = in.name();
  span.start = EventTime::FromNs(in.start_unix_ns());
  span.end = EventTime::FromNs(in.start_unix_ns() + in.duration_ns());
  span.step = StepOf(in.step_plus_one());
  span.mode = in.mode();
  return span;
}

void Convert(const pb::Value& in, steps::LoggedValue* out) {
  out->metric = in.metric();
  out->labels.clear();
  for (const pb::Label& label : in.labels()) out->labels.push_back({label.name(), label.value()});
  out->value = in.value();
  out->time_ns = in.time_unix_ns();
  out->step = StepOf(in.step_plus_one());
  out->mode = in.mode();
}

}  // namespace pitwall::collector
