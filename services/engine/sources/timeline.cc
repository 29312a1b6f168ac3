#include "services/engine/sources/timeline.h"

namespace pitwall::engine {

size_t Timeline::Bytes(const TimelineEventKey& key, const TimelineEvent& happening) {
  const JobEvent& event = happening.event;
  const JobReference& r = event.reference;
  size_t bytes = 640 + key.source.size() + key.boot.size() + happening.mode.size() +
                 event.name.size() + event.reason.size() + event.rank_lost.source.size() +
                 event.rank_lost.boot_id.size() + event.rank_lost.exception.size();
  for (const std::string* field :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue}) {
    bytes += field->size();
  }
  for (const std::string& mode : happening.modes) bytes += 32 + mode.size();
  for (const std::string& name : event.series) bytes += 32 + name.size();
  for (const Label& label : event.labels) bytes += 64 + label.name.size() + label.value.size();
  return bytes;
}

void Timeline::Add(TimelineEventKey key, TimelineEvent happening) {
  const size_t bytes = Bytes(key, happening);
  const auto [it, fresh] = items_.try_emplace(std::move(key));
  if (!fresh) bytes_ -= Bytes(it->first, it->second);
  it->second = std::move(happening);
  bytes_ += bytes;
}

const TimelineEventKey* Timeline::FirstUpTo(EventTime upto) const {
  return items_.empty() || items_.begin()->first.time > upto ? nullptr : &items_.begin()->first;
}

std::pair<TimelineEventKey, TimelineEvent> Timeline::TakeFirst() {
  auto node = items_.extract(items_.begin());
  bytes_ -= Bytes(node.key(), node.mapped());
  return {std::move(node.key()), std::move(node.mapped())};
}

namespace {
// Bits that describe a lost rank in saved state.
constexpr uint8_t kOomKilled = 1, kHasException = 2;

void SaveEvent(const JobEvent& event, BinaryWriter& out) {
  out.U8(static_cast<uint8_t>(event.kind));
  out.I64(event.time.ns());
  out.Str(event.name);
  const JobReference& r = event.reference;
  for (const std::string* field :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue}) {
    out.Str(*field);
  }
  out.U64(event.labels.size());
  for (const Label& label : event.labels) {
    out.Str(label.name);
    out.Str(label.value);
  }
  out.Str(event.reason);
  out.U64(event.series.size());
  for (const std::string& name : event.series) out.Str(name);
  const RankLost& lost = event.rank_lost;
  out.I64(lost.rank);
  out.Str(lost.source);
  out.Str(lost.boot_id);
  for (const std::optional<int32_t>& number : {lost.signal, lost.exit_code}) {
    out.Bool(number.has_value());
    out.I64(number.value_or(0));
  }
  // This byte was a bool before exceptions existed. The encoding of a value without an exception is
  // unchanged.
  out.U8((lost.oom_killed ? kOomKilled : 0) | (lost.exception.empty() ? 0 : kHasException));
  if (!lost.exception.empty()) out.Str(lost.exception);
}

JobEvent RestoreEvent(BinaryReader& in) {
  JobEvent event;
  event.kind = static_cast<JobEvent::Kind>(in.U8());
  event.time = EventTime::FromNs(in.I64());
  event.name = in.Str();
  JobReference& r = event.reference;
  for (std::string* field :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue}) {
    *field = in.Str();
  }
  event.labels.resize(in.Count(2));
  for (Label& label : event.labels) {
    label.name = in.Str();
    label.value = in.Str();
  }
  event.reason = in.Str();
  event.series.resize(in.Count());
  for (std::string& name : event.series) name = in.Str();
  RankLost& lost = event.rank_lost;
  lost.rank = in.I64();
  lost.source = in.Str();
  lost.boot_id = in.Str();
  for (std::optional<int32_t>* number : {&lost.signal, &lost.exit_code}) {
    const bool known = in.Bool();
    const auto value = static_cast<int32_t>(in.I64());
    if (known) *number = value;
  }
  const uint8_t rest = in.U8();
  if (rest > (kOomKilled | kHasException)) in.Fail();
  lost.oom_killed = (rest & kOomKilled) != 0;
  if ((rest & kHasException) != 0) lost.exception = in.Str();
  return event;
}
}  // namespace

void Timeline::Save(BinaryWriter& out) const {
  out.U64(items_.size());
  for (const auto& [key, item] : items_) {
    out.I64(key.time.ns());
    out.U8(static_cast<uint8_t>(key.phase));
    out.Str(key.source);
    out.Str(key.boot);
    out.U64(key.sequence);
    out.U64(key.index);
    out.U8(static_cast<uint8_t>(item.kind));
    out.Str(item.mode);
    out.I64(item.step.value());
    out.U64(item.modes.size());
    for (const std::string& mode : item.modes) out.Str(mode);
    SaveEvent(item.event, out);
  }
}

Status Timeline::Restore(BinaryReader& in) {
  for (size_t n = in.Count(8); n > 0; --n) {
    TimelineEventKey key;
    key.time = EventTime::FromNs(in.I64());
    key.phase = static_cast<Phase>(in.U8());
    key.source = in.Str();
    key.boot = in.Str();
    key.sequence = in.U64();
    key.index = static_cast<uint32_t>(in.U64());
    TimelineEvent item;
    item.kind = static_cast<TimelineEvent::Kind>(in.U8());
    item.mode = in.Str();
    item.step = Step(in.I64());
    item.modes.resize(in.Count());
    for (std::string& mode : item.modes) mode = in.Str();
    item.event = RestoreEvent(in);
    Add(std::move(key), std::move(item));
  }
  return in.ok() ? OkStatus() : DataLoss("snapshot: timeline is damaged");
}

}  // namespace pitwall::engine
