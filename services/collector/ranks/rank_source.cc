#include "services/collector/ranks/rank_source.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/text/utf8.h"
#include "services/base/time.h"
#include "services/collector/ranks/client_update.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;

constexpr size_t kExceptionBytes = 200;

steps::Options SeriesOptions(const RankSource::Identity& identity) {
  steps::Options options;
  options.rank = identity.info.rank;
  options.world_size = identity.world_size;
  options.promised_ns = identity.info.start.ns() - 1;
  if (identity.known.has_value())
    options.promised_ns = std::max(options.promised_ns, identity.known->promise_ns);
  options.resumed = identity.first_sequence > 1 && !identity.known.has_value();
  return options;
}

// Returns the state that the next collector needs.
std::string Known(const RankSource::Identity& identity, std::optional<std::string> goodbye) {
  return EncodeKnownRank({.owner = identity.owner,
                          .owner_declared = identity.owner_declared,
                          .info = identity.info,
                          .world_size = identity.world_size,
                          .resends = identity.resends,
                          .home = identity.home,
                          .process = identity.process,
                          .goodbye = std::move(goodbye)});
}

JobEvent RankLost(const RankSource::Identity& identity, const ProcessEnd& end) {
  JobEvent event;
  event.kind = JobEvent::Kind::kRankLost;
  event.rank_lost = {.rank = identity.info.rank,
                     .source = identity.source,
                     .boot_id = identity.boot_id,
                     .signal = end.signal,
                     .exit_code = end.exit_code,
                     .oom_killed = end.oom_killed};
  return event;
}

}  // namespace

RankSource::RankSource(Identity identity, BatchSender* sender, Counters* counters)
    : identity_(std::move(identity)),
      sender_(sender),
      counters_(counters),
      series_(SeriesOptions(identity_), counters),
      progress_(identity_.resends, identity_.known) {
  state_.next_sequence = identity_.first_sequence;
  if (identity_.first_sequence > 1) state_.first_sequence = identity_.first_sequence;
  state_.promise_ns = identity_.info.start.ns() - 1;
  if (identity_.known.has_value())
    state_.promise_ns = std::max(state_.promise_ns, identity_.known->promise_ns);
}

Batch RankSource::Begin() {
  Batch batch;
  batch.job = identity_.job;
  batch.owner = identity_.owner;
  batch.owner_declared = identity_.owner_declared;
  batch.source = identity_.source;
  batch.boot_id = identity_.boot_id;
  batch.promise = EventTime::FromNs(state_.promise_ns);
  return batch;
}

void RankSource::Announce(std::vector<JobEvent> events) {
  Batch batch = Begin();
  batch.info = Info();
  batch.events = std::move(events);
  std::optional<std::string> rank;
  if (identity_.process.self.pid > 0) rank = Known(identity_, std::nullopt);
  ClientCursor cursor = Cursor(std::move(rank));
  sender_->Send(std::move(batch), &state_, &cursor);
}

SourceInfo RankSource::Info() const {
  SourceInfo info = identity_.info;
  info.step_modes = series_.step_modes();
  return info;
}

void RankSource::Connect(bool resends, bool captures) {
  identity_.resends = resends;
  captures_ = captures;
}

ClientCursor RankSource::Cursor(std::optional<std::string> rank) const {
  ClientCursor cursor;
  cursor.job = identity_.job;
  cursor.source = identity_.source;
  cursor.boot_id = identity_.boot_id;
  cursor.rank = std::move(rank);
  progress_.Describe(&cursor);
  return cursor;
}

// Counts gaps in the sequence. A client that resends updates counts its own drops (`dropped`), so a
// gap means that its buffer was full. For other clients, a gap consists of the updates in flight
// when the connection broke.
void RankSource::Receive(const pb::Update& update) {
  if (const uint64_t missed = progress_.Receive(update.sequence()); missed > 0) {
    counters_->client_updates_missed.fetch_add(missed, std::memory_order_relaxed);
    PITWALL_LOG(kWarning, "collector", identity_.source, " of job ", Quote(identity_.job), ": ",
                missed, " updates are missing before update ", update.sequence());
  }
  if (const uint64_t dropped = progress_.CountDropped(update.dropped()); dropped > 0) {
    counters_->client_drops.fetch_add(dropped, std::memory_order_relaxed);
    PITWALL_LOG(kWarning, "collector", identity_.source, " of job ", Quote(identity_.job),
                ": its client dropped ", dropped, " spans and values");
  }
}

Status RankSource::Update(const pb::Update& update) {
  RETURN_IF_ERROR(CheckUpdate(update));
  if (identity_.resends && update.sequence() <= progress_.received()) {
    counters_->client_updates_repeated.fetch_add(1, std::memory_order_relaxed);
    return OkStatus();
  }
  Receive(update);
  doing_.phase = update.phase();
  doing_.mode = update.mode();
  doing_.step_plus_one = update.step_plus_one();
  if (update.has_loop_open()) doing_.loop_open = update.loop_open();
  Batch batch = Begin();
  batch.promise = std::max(batch.promise, EventTime::FromNs(update.promise_unix_ns()));
  series_.Add(update, &progress_, &batch);
  if (progress_.replayed()) {  // sent by the previous collector
    counters_->client_updates_repeated.fetch_add(1, std::memory_order_relaxed);
    return OkStatus();
  }
  batch.info = Info();
  ClientCursor cursor = Cursor(std::nullopt);
  sender_->Send(std::move(batch), &state_, &cursor);
  return OkStatus();
}

void RankSource::Goodbye(std::string_view reason) {
  if (goodbye_ != reason) SendGoodbye(reason, {});
}

void RankSource::Failed(int64_t at_ns, std::string_view exception, const ProcessEnd& end) {
  if (goodbye_.has_value()) state_.promise_ns = std::max(state_.promise_ns, at_ns);
  JobEvent event = RankLost(identity_, end);
  event.reason = "failed";
  event.rank_lost.exception = std::string(Utf8Prefix(exception, kExceptionBytes));
  std::vector<JobEvent> events;
  events.push_back(std::move(event));
  SendGoodbye("failed", std::move(events));
}

void RankSource::SendGoodbye(std::string_view reason, std::vector<JobEvent> events) {
  Batch batch = Begin();
  batch.goodbye = true;
  batch.events = std::move(events);
  for (JobEvent& event : batch.events) event.time = batch.promise;
  if (!goodbye_.has_value()) series_.Finish(&batch);
  goodbye_ = std::string(reason);
  batch.info = Info();
  progress_.ReleaseAll();
  // The job ends only after a grace period, by which time the next collector may be running.
  const bool watched = identity_.process.self.pid > 0;
  ClientCursor cursor = Cursor(watched ? Known(identity_, goodbye_) : "");
  sender_->Send(std::move(batch), &state_, &cursor);
}

void RankSource::Lost(int64_t at_ns, const ProcessEnd& end) {
  JobEvent event = RankLost(identity_, end);
  event.time = EventTime::FromNs(at_ns);
  SendEvent(std::move(event));
}

void RankSource::LauncherGone(int64_t at_ns) {
  JobEvent event;
  event.kind = JobEvent::Kind::kLauncherGone;
  event.time = EventTime::FromNs(at_ns);
  SendEvent(std::move(event));
}

// Sends the event with a promise that no data at or before its time will follow.
void RankSource::SendEvent(JobEvent event) {
  Batch batch = Begin();
  batch.promise = event.time = std::max(batch.promise, event.time);
  series_.Finish(&batch);
  batch.info = Info();
  batch.events.push_back(std::move(event));
  ClientCursor cursor = Cursor("");
  sender_->Send(std::move(batch), &state_, &cursor);
}

}  // namespace pitwall::collector
