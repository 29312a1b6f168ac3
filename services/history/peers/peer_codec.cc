#include "services/history/peers/peer_codec.h"

#include <utility>

#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"

namespace pitwall::history {
namespace {

void PutReference(const JobReference& r, BinaryWriter* out) {
  for (const std::string* text :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue})
    out->Str(*text);
}

JobReference TakeReference(BinaryReader* in) {
  JobReference r;
  for (std::string* text :
       {&r.platform, &r.cluster, &r.namespace_name, &r.kind, &r.name, &r.uid, &r.queue})
    *text = in->Str();
  return r;
}

void PutMaybe(const std::optional<int32_t>& number, BinaryWriter* out) {
  out->Bool(number.has_value());
  out->I64(number.value_or(0));
}

std::optional<int32_t> TakeMaybe(BinaryReader* in) {
  const bool there = in->Bool();
  const auto number = static_cast<int32_t>(in->I64());
  return there ? std::optional<int32_t>(number) : std::nullopt;
}

void PutAttempt(const AttemptLife& a, BinaryWriter* out) {
  out->U64(a.attempt);
  out->I64(a.began_ns);
  out->I64(a.ended_ns);
  out->U8(static_cast<uint8_t>(a.end_detail));
  out->Str(a.end_text);
  out->I64(a.first_step_ns);
  out->I64(a.last_step_ns);
  out->U64(a.lost.size());
  for (const auto& [time_ns, lost] : a.lost) {
    out->I64(time_ns);
    out->I64(lost.rank);
    out->Str(lost.node);
    PutMaybe(lost.signal, out);
    PutMaybe(lost.exit_code, out);
    out->Bool(lost.oom_killed);
  }
}

AttemptLife TakeAttempt(BinaryReader* in) {
  AttemptLife a;
  a.attempt = in->U64();
  a.began_ns = in->I64();
  a.ended_ns = in->I64();
  a.end_detail = static_cast<EndDetail>(in->U8());
  a.end_text = in->Str();
  a.first_step_ns = in->I64();
  a.last_step_ns = in->I64();
  for (size_t n = in->Count(8); n > 0 && in->ok(); --n) {
    auto& [time_ns, lost] = a.lost.emplace_back();
    time_ns = in->I64();
    lost.rank = in->I64();
    lost.node = in->Str();
    lost.signal = TakeMaybe(in);
    lost.exit_code = TakeMaybe(in);
    lost.oom_killed = in->Bool();
  }
  return a;
}

void PutSource(const SourceLife& s, BinaryWriter* out) {
  out->Str(s.source);
  out->Str(s.node);
  out->I64(s.rank);
  out->I64(s.first_ns);
  out->I64(s.last_ns);
  out->I64(s.interval_ns);
  out->Bool(s.goodbye);
  out->I64(s.goodbye_ns);
}

SourceLife TakeSource(BinaryReader* in) {
  SourceLife s;
  s.source = in->Str();
  s.node = in->Str();
  s.rank = in->I64();
  s.first_ns = in->I64();
  s.last_ns = in->I64();
  s.interval_ns = in->I64();
  s.goodbye = in->Bool();
  s.goodbye_ns = in->I64();
  return s;
}

}  // namespace

void PutLife(const JobOverview& life, BinaryWriter* out) {
  out->Str(life.id);
  out->Str(life.name);
  out->Str(life.owner);
  PutReference(life.reference, out);
  for (const int64_t ns : {life.first_ns, life.last_ns, life.started_ns, life.ended_ns})
    out->I64(ns);
  out->U8(static_cast<uint8_t>(life.end_detail));
  out->Str(life.end_text);
  out->U64(life.attempts.size());
  for (const AttemptLife& attempt : life.attempts) PutAttempt(attempt, out);
  out->U64(life.sources.size());
  for (const auto& [key, source] : life.sources) {
    out->Str(key);
    PutSource(source, out);
  }
  out->U64(life.found.size());
  for (const auto& [rule, count] : life.found) {
    out->Str(rule);
    out->U64(count);
  }
  out->U64(life.open.count);
  out->Str(life.open.worst_severity);
  out->I64(life.open.stalled_since_ns);
  out->U64(life.samples);
  out->U64(life.bytes);
  out->I64(life.raw_from_ns);
  out->I64(life.raw_dropped_ns);
  out->Bool(life.archived);
}

JobLifePtr TakeLife(BinaryReader* in) {
  auto life = std::make_shared<JobOverview>();
  life->id = in->Str();
  life->name = in->Str();
  life->owner = in->Str();
  life->reference = TakeReference(in);
  for (int64_t* ns : {&life->first_ns, &life->last_ns, &life->started_ns, &life->ended_ns})
    *ns = in->I64();
  life->end_detail = static_cast<EndDetail>(in->U8());
  life->end_text = in->Str();
  for (size_t n = in->Count(6); n > 0 && in->ok(); --n) life->attempts.push_back(TakeAttempt(in));
  for (size_t n = in->Count(8); n > 0 && in->ok(); --n) {
    std::string key = in->Str();
    life->sources.emplace(std::move(key), TakeSource(in));
  }
  for (size_t n = in->Count(2); n > 0 && in->ok(); --n) {
    std::string rule = in->Str();
    life->found.emplace(std::move(rule), in->U64());
  }
  life->open.count = in->U64();
  life->open.worst_severity = in->Str();
  life->open.stalled_since_ns = in->I64();
  life->samples = in->U64();
  life->bytes = in->U64();
  life->raw_from_ns = in->I64();
  life->raw_dropped_ns = in->I64();
  life->archived = in->Bool();
  return life;
}

void PutQuery(const SampleQuery& query, BinaryWriter* out) {
  out->Str(query.job);
  out->U64(query.selectors.size());
  for (const Selector& selector : query.selectors) {
    out->U64(selector.matchers.size());
    for (const Matcher& matcher : selector.matchers) {
      out->Str(matcher.label());
      out->U8(static_cast<uint8_t>(matcher.op()));
      out->Str(matcher.value());
    }
  }
  out->I64(query.range.from_ns);
  out->I64(query.range.to_ns);
  out->U64(query.limits.series);
  out->U64(query.limits.rows);
  out->Str(query.mode);
  out->I64(query.from_step);
  out->I64(query.to_step);
  out->Bool(query.stale_markers);
}

StatusOr<SampleQuery> TakeQuery(BinaryReader* in) {
  SampleQuery query;
  query.job = in->Str();
  for (size_t n = in->Count(); n > 0 && in->ok(); --n) {
    Selector& selector = query.selectors.emplace_back();
    for (size_t m = in->Count(3); m > 0 && in->ok(); --m) {
      const std::string label = in->Str();
      const uint8_t op = in->U8();
      const std::string value = in->Str();
      if (op > static_cast<uint8_t>(MatchOp::kNotRegex)) in->Fail();
      if (!in->ok()) break;
      ASSIGN_OR_RETURN(Matcher matcher, Matcher::Make(label, static_cast<MatchOp>(op), value));
      selector.matchers.push_back(std::move(matcher));
    }
  }
  query.range.from_ns = in->I64();
  query.range.to_ns = in->I64();
  query.limits.series = in->U64();
  query.limits.rows = in->U64();
  query.mode = in->Str();
  query.from_step = in->I64();
  query.to_step = in->I64();
  query.stale_markers = in->Bool();
  return query;
}

void PutLabels(const Labels& labels, BinaryWriter* out) {
  out->U64(labels.size());
  for (const Label& label : labels) {
    out->Str(label.name);
    out->Str(label.value);
  }
}

Labels TakeLabels(BinaryReader* in) {
  std::vector<Label> pairs;
  for (size_t n = in->Count(2); n > 0 && in->ok(); --n) {
    std::string name = in->Str();
    pairs.push_back({std::move(name), in->Str()});
  }
  return Labels::FromPairs(std::move(pairs));
}

void PutSeries(const std::vector<SeriesInfo>& series, BinaryWriter* out) {
  out->U64(series.size());
  for (const SeriesInfo& info : series) {
    PutLabels(info.labels, out);
    out->U8(static_cast<uint8_t>(info.kind));
    out->I64(info.first_ns);
    out->I64(info.last_ns);
    out->Bool(info.has_steps);
  }
}

std::vector<SeriesInfo> TakeSeries(BinaryReader* in) {
  std::vector<SeriesInfo> out;
  for (size_t n = in->Count(5); n > 0 && in->ok(); --n) {
    SeriesInfo& info = out.emplace_back();
    info.labels = TakeLabels(in);
    info.kind = static_cast<SeriesKind>(in->U8());
    info.first_ns = in->I64();
    info.last_ns = in->I64();
    info.has_steps = in->Bool();
  }
  return out;
}

void PutSamples(const std::vector<SampleColumn>& columns, BinaryWriter* out) {
  out->U64(columns.size());
  for (const SampleColumn& column : columns) {
    PutLabels(column.labels, out);
    out->U8(static_cast<uint8_t>(column.kind));
    out->I64s(column.times);
    out->Doubles(column.values);
    out->I64s(column.steps);
  }
}

std::vector<SampleColumn> TakeSamples(BinaryReader* in) {
  std::vector<SampleColumn> out;
  for (size_t n = in->Count(5); n > 0 && in->ok(); --n) {
    SampleColumn& column = out.emplace_back();
    column.labels = TakeLabels(in);
    column.kind = static_cast<SeriesKind>(in->U8());
    column.times = in->I64s();
    column.values = in->Doubles();
    column.steps = in->I64s();
    if (column.times.size() != column.values.size() ||
        (!column.steps.empty() && column.steps.size() != column.values.size()))
      in->Fail();
  }
  return out;
}

void PutEvents(const std::vector<IssueEventPtr>& events, BinaryWriter* out) {
  out->U64(events.size());
  for (const IssueEventPtr& event : events) out->Str(cloudevents::EncodeCloudEvent(*event));
}

StatusOr<std::vector<IssueEventPtr>> TakeEvents(BinaryReader* in) {
  std::vector<IssueEventPtr> out;
  for (size_t n = in->Count(); n > 0 && in->ok(); --n) {
    ASSIGN_OR_RETURN(IssueEvent event, cloudevents::DecodeCloudEvent(in->StrView()));
    out.push_back(std::make_shared<const IssueEvent>(std::move(event)));
  }
  return out;
}

void PutChanges(const std::vector<Change>& changes, BinaryWriter* out) {
  out->U64(changes.size());
  for (const Change& change : changes) {
    out->U64(change.place);
    out->U8(static_cast<uint8_t>(change.topic));
    out->Str(change.job);
    out->I64(change.time_ns);
    out->Str(change.event != nullptr     ? cloudevents::EncodeCloudEvent(*change.event)
             : change.action != nullptr  ? cloudevents::EncodeCloudEvent(*change.action)
             : change.capture != nullptr ? cloudevents::EncodeRankCapture(*change.capture)
             : change.notification != nullptr
                 ? cloudevents::EncodeNotification(*change.notification)
                 : std::string());
  }
}

StatusOr<std::vector<Change>> DecodeChanges(std::string_view answer) {
  BinaryReader in(answer);
  std::vector<Change> out;
  for (size_t n = in.Count(5); n > 0 && in.ok(); --n) {
    Change& change = out.emplace_back();
    change.place = in.U64();
    const uint8_t topic = in.U8();
    if (topic > static_cast<uint8_t>(Change::Topic::kNotification)) in.Fail();
    change.topic = static_cast<Change::Topic>(topic);
    change.job = in.Str();
    change.time_ns = in.I64();
    const std::string_view text = in.StrView();
    if (!in.ok() || text.empty()) continue;
    if (change.topic == Change::Topic::kAction) {
      ASSIGN_OR_RETURN(ActionEvent action, cloudevents::DecodeActionEvent(text));
      change.action = std::make_shared<const ActionEvent>(std::move(action));
    } else if (change.topic == Change::Topic::kCapture) {
      ASSIGN_OR_RETURN(RankCapture capture, cloudevents::DecodeRankCapture(text));
      change.capture = std::make_shared<const RankCapture>(std::move(capture));
    } else if (change.topic == Change::Topic::kNotification) {
      ASSIGN_OR_RETURN(NotificationRecord notification, cloudevents::DecodeNotification(text));
      change.notification = std::make_shared<const NotificationRecord>(std::move(notification));
    } else {
      ASSIGN_OR_RETURN(IssueEvent event, cloudevents::DecodeCloudEvent(text));
      change.event = std::make_shared<const IssueEvent>(std::move(event));
    }
  }
  RETURN_IF_ERROR(in.Finish("response of a peer"));
  return out;
}

StatusOr<uint64_t> DecodePlace(std::string_view answer) {
  BinaryReader in(answer);
  const uint64_t place = in.U64();
  RETURN_IF_ERROR(in.Finish("response of a peer"));
  return place;
}

std::string PutAnswer(const StatusOr<std::string>& answer) {
  BinaryWriter out;
  out.U8(kPeerVersion);
  out.U64(static_cast<uint64_t>(answer.status().code()));
  out.Str(std::string_view(answer.status().message().data(), answer.status().message().size()));
  return out.Take() + (answer.ok() ? *answer : std::string());
}

StatusOr<std::string> TakeAnswer(std::string_view bytes) {
  BinaryReader in(bytes);
  const uint8_t version = in.U8();
  const uint64_t code = in.U64();
  const std::string message = in.Str();
  if (!in.ok() || version != kPeerVersion || code > 16)
    return Unavailable(
        "the response is not from a peer with this version; run the same version everywhere");
  if (code != 0) return Status(static_cast<absl::StatusCode>(code), message);
  BinaryWriter head;
  head.U8(version);
  head.U64(code);
  head.Str(message);
  return std::string(bytes.substr(head.data().size()));
}

}  // namespace pitwall::history
