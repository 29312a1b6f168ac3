#include "services/collector/ranks/rank_source.h"

#include <algorithm>
#include <utility>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr int64_t kSchemaRepeatNs = 5 * kNanosPerSecond;
constexpr uint64_t kMaxStep = uint64_t{1} << 62;
constexpr size_t kMaxStepModes = 16;
constexpr size_t kExceptionBytes = 200;

int64_t StepOf(uint64_t step_plus_one) {
  return step_plus_one == 0 ? kNoStep : static_cast<int64_t>(step_plus_one - 1);
}

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

steps::Options SeriesOptions(const RankSource::Identity& identity) {
  steps::Options options;
  options.rank = identity.info.rank;
  options.world_size = identity.world_size;
  options.promised_ns = identity.info.start_ns - 1;
  if (identity.known.has_value())
    options.promised_ns = std::max(options.promised_ns, identity.known->promise_ns);
  options.resumed = identity.first_sequence > 1 && !identity.known.has_value();
  return options;
}

}  // namespace

RankSource::RankSource(Identity identity, BatchSender* sender, Counters* counters)
    : identity_(std::move(identity)),
      sender_(sender),
      counters_(counters),
      series_(SeriesOptions(identity_)) {
  state_.next_sequence = identity_.first_sequence;
  if (identity_.first_sequence > 1) state_.first_sequence = identity_.first_sequence;
  state_.promise_ns = identity_.info.start_ns - 1;
  if (!identity_.known.has_value()) return;
  const ClientCursor& known = *identity_.known;
  state_.promise_ns = std::max(state_.promise_ns, known.promise_ns);
  last_update_ = identity_.resends ? known.written : known.received;
  replayed_until_ = identity_.resends ? known.received : 0;
}

Batch RankSource::Begin() {
  Batch batch;
  batch.job = identity_.job;
  batch.owner = identity_.owner;
  batch.owner_declared = identity_.owner_declared;
  batch.source = identity_.source;
  batch.boot_id = identity_.boot_id;
  batch.promise_ns = state_.promise_ns;
  return batch;
}

void RankSource::Announce(std::vector<JobEvent> events) {
  Batch batch = Begin();
  batch.info = identity_.info;
  batch.events = std::move(events);
  ClientCursor cursor = Cursor();
  if (identity_.process.self.pid > 0) cursor.rank = Known(std::nullopt);
  sender_->Send(std::move(batch), &state_, &cursor);
}

std::string RankSource::Known(std::optional<std::string> goodbye) const {
  return EncodeKnownRank({.owner = identity_.owner,
                          .owner_declared = identity_.owner_declared,
                          .info = identity_.info,
                          .world_size = identity_.world_size,
                          .resends = identity_.resends,
                          .home = identity_.home,
                          .process = identity_.process,
                          .goodbye = std::move(goodbye)});
}

ClientCursor RankSource::Cursor() const {
  ClientCursor cursor;
  cursor.job = identity_.job;
  cursor.source = identity_.source;
  cursor.boot_id = identity_.boot_id;
  cursor.received = std::max(last_update_, replayed_until_);
  cursor.written = last_update_;
  for (const auto& [step, first] : held_) cursor.written = std::min(cursor.written, first - 1);
  return cursor;
}

ClientCursor RankSource::LastCursor() const {
  ClientCursor cursor = Cursor();
  cursor.rank = "";
  return cursor;
}

void RankSource::Hold(std::string_view mode, int64_t step) {
  if (step != kNoStep) held_.try_emplace({std::string(mode), step}, last_update_);
}

// Counts gaps in the sequence. A client that resends updates counts the updates that it dropped
// itself (`dropped`), so a gap means that it kept updates for too long. For other clients, a gap
// contains the updates that were in flight when the connection broke.
void RankSource::CountMissed(const pb::Update& update) {
  if (last_update_ != 0 && update.sequence() > last_update_ + 1) {
    const uint64_t missed = update.sequence() - last_update_ - 1;
    counters_->client_updates_missed.fetch_add(missed, std::memory_order_relaxed);
    PITWALL_LOG(kWarning, "collector", identity_.source, " of job ", Quote(identity_.job), ": ",
                missed, " updates are missing before update ", update.sequence());
  }
  if (update.dropped() > dropped_) {
    counters_->client_drops.fetch_add(update.dropped() - dropped_, std::memory_order_relaxed);
    PITWALL_LOG(kWarning, "collector", identity_.source, " of job ", Quote(identity_.job),
                ": its client dropped ", update.dropped() - dropped_, " spans and values");
    dropped_ = update.dropped();
  }
}

void RankSource::AddMode(const std::string& mode) {
  std::vector<std::string>& modes = identity_.info.step_modes;
  const auto at = std::lower_bound(modes.begin(), modes.end(), mode);
  if (at != modes.end() && *at == mode) return;
  if (modes.size() < kMaxStepModes) modes.insert(at, mode);
}

Status RankSource::Check(const pb::Update& update) const {
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

Status RankSource::Update(const pb::Update& update) {
  RETURN_IF_ERROR(Check(update));
  if (identity_.resends && update.sequence() <= last_update_) {
    counters_->client_updates_repeated.fetch_add(1, std::memory_order_relaxed);
    return OkStatus();
  }
  CountMissed(update);
  last_update_ = update.sequence();
  doing_.phase = update.phase();
  doing_.mode = update.mode();
  doing_.step_plus_one = update.step_plus_one();
  if (update.has_loop_open()) doing_.loop_open = update.loop_open();
  Batch batch = Begin();
  batch.promise_ns = std::max(batch.promise_ns, update.promise_unix_ns());
  Add(update, &batch);
  const bool replayed = last_update_ <= replayed_until_;
  const bool repeat = !replayed && batch.promise_ns - schemas_sent_ns_ >= kSchemaRepeatNs;
  if (repeat) schemas_sent_ns_ = batch.promise_ns;
  series_.Flush(batch.promise_ns, repeat, &batch);
  for (const std::string& mode : series_.modes()) AddMode(mode);
  std::erase_if(held_, [this](const auto& entry) {
    return !series_.Holds(entry.first.first, entry.first.second);
  });
  if (replayed) {  // sent by the previous collector
    counters_->client_updates_repeated.fetch_add(1, std::memory_order_relaxed);
    drops_ = series_.drops();
    return OkStatus();
  }
  batch.info = identity_.info;
  CountDrops();
  ClientCursor cursor = Cursor();
  sender_->Send(std::move(batch), &state_, &cursor);
  return OkStatus();
}

void RankSource::Add(const pb::Update& update, Batch* batch) {
  batch->spans.reserve(static_cast<size_t>(update.spans_size()));
  for (const pb::Span& in : update.spans()) {
    Span span;
    span.kind = in.kind() == pb::SPAN_KIND_STEP    ? Span::Kind::kStep
                : in.kind() == pb::SPAN_KIND_PHASE ? Span::Kind::kPhase
                                                   : Span::Kind::kOperator;
    if (span.kind != Span::Kind::kStep) span.name = in.name();
    span.start_ns = in.start_unix_ns();
    span.end_ns = in.start_unix_ns() + in.duration_ns();
    span.step = StepOf(in.step_plus_one());
    span.mode = in.mode();
    series_.AddSpan(span);
    if (span.kind == Span::Kind::kPhase) Hold(span.mode, span.step);
    batch->spans.push_back(std::move(span));
  }
  steps::LoggedValue value;
  for (const pb::Value& in : update.values()) {
    value.metric = in.metric();
    value.labels.clear();
    for (const pb::Label& label : in.labels())
      value.labels.push_back({label.name(), label.value()});
    value.value = in.value();
    value.time_ns = in.time_unix_ns();
    value.step = StepOf(in.step_plus_one());
    value.mode = in.mode();
    series_.AddValue(value);
    Hold(value.mode, value.step);
  }
  series_.SetCurrent(update.phase(), update.phase_since_unix_ns(), StepOf(update.step_plus_one()),
                     update.mode());
  for (const pb::StepPromise& in : update.step_promises()) {
    AddMode(in.mode());
    if (in.below_step() > 0)
      batch->step_promises.push_back({in.mode(), static_cast<int64_t>(in.below_step()) - 1});
  }
}

void RankSource::Goodbye(std::string_view reason) {
  if (goodbye_ != reason) SendGoodbye(reason, {});
}

void RankSource::Failed(int64_t at_ns, std::string_view exception, const ProcessEnd& end) {
  if (goodbye_.has_value()) state_.promise_ns = std::max(state_.promise_ns, at_ns);
  JobEvent event;
  event.kind = JobEvent::Kind::kRankLost;
  event.reason = "failed";
  event.rank_lost = {.rank = identity_.info.rank,
                     .source = identity_.source,
                     .boot_id = identity_.boot_id,
                     .signal = end.signal,
                     .exit_code = end.exit_code,
                     .oom_killed = end.oom_killed,
                     .exception = std::string(Utf8Prefix(exception, kExceptionBytes))};
  std::vector<JobEvent> events;
  events.push_back(std::move(event));
  SendGoodbye("failed", std::move(events));
}

void RankSource::SendGoodbye(std::string_view reason, std::vector<JobEvent> events) {
  Batch batch = Begin();
  batch.goodbye = true;
  batch.events = std::move(events);
  for (JobEvent& event : batch.events) event.time_ns = batch.promise_ns;
  if (!goodbye_.has_value()) series_.Finish(batch.promise_ns, &batch);
  goodbye_ = std::string(reason);
  for (const std::string& mode : series_.modes()) AddMode(mode);
  batch.info = identity_.info;
  CountDrops();
  held_.clear();
  ClientCursor cursor = LastCursor();
  // The job ends only after a grace period, and possibly while the next collector is running.
  if (identity_.process.self.pid > 0) cursor.rank = Known(goodbye_);
  sender_->Send(std::move(batch), &state_, &cursor);
}

void RankSource::Lost(int64_t at_ns, const ProcessEnd& end) {
  JobEvent event;
  event.kind = JobEvent::Kind::kRankLost;
  event.time_ns = at_ns;
  event.rank_lost = {.rank = identity_.info.rank,
                     .source = identity_.source,
                     .boot_id = identity_.boot_id,
                     .signal = end.signal,
                     .exit_code = end.exit_code,
                     .oom_killed = end.oom_killed};
  SendEvent(std::move(event));
}

void RankSource::LauncherGone(int64_t at_ns) {
  JobEvent event;
  event.kind = JobEvent::Kind::kLauncherGone;
  event.time_ns = at_ns;
  SendEvent(std::move(event));
}

// Sends the event with a promise that no earlier or simultaneous data will follow.
void RankSource::SendEvent(JobEvent event) {
  Batch batch = Begin();
  batch.promise_ns = event.time_ns = std::max(batch.promise_ns, event.time_ns);
  series_.Finish(batch.promise_ns, &batch);
  for (const std::string& mode : series_.modes()) AddMode(mode);
  batch.info = identity_.info;
  batch.events.push_back(std::move(event));
  CountDrops();
  ClientCursor cursor = LastCursor();
  sender_->Send(std::move(batch), &state_, &cursor);
}

void RankSource::CountDrops() {
  for (size_t i = 0; i < steps::kDrops; ++i) {
    const uint64_t now = series_.drops()[i];
    counters_->step_drops[i].fetch_add(now - drops_[i], std::memory_order_relaxed);
    drops_[i] = now;
  }
}

}  // namespace pitwall::collector
