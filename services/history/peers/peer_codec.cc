#include "services/history/peers/peer_codec.h"

#include <tuple>
#include <utility>

#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"
#include "services/history/binary_fields.h"

namespace pitwall::history {

template <>
struct BinaryFields<LostRank> {
  static constexpr std::tuple kMembers = {&LostRank::rank, &LostRank::node, &LostRank::signal,
                                          &LostRank::exit_code, &LostRank::oom_killed};
};

template <>
struct BinaryFields<Labels> {
  static void Put(const Labels& labels, BinaryWriter* out) {
    out->U64(labels.size());
    for (const Label& label : labels) {
      out->Str(label.name);
      out->Str(label.value);
    }
  }
  static void Take(BinaryReader* in, Labels* labels) {
    std::vector<Label> pairs;
    for (size_t n = in->Count(2); n > 0 && in->ok(); --n) {
      std::string name = in->Str();
      pairs.push_back({std::move(name), in->Str()});
    }
    *labels = Labels::FromPairs(std::move(pairs));
  }
};

template <>
struct BinaryFields<AttemptLife> {
  using T = AttemptLife;
  static constexpr std::tuple kMembers = {&T::attempt,      &T::began_ns, &T::ended_ns,
                                          &T::end_detail,   &T::end_text, &T::first_step_ns,
                                          &T::last_step_ns, &T::lost};
};

template <>
struct BinaryFields<SourceLife> {
  using T = SourceLife;
  static constexpr std::tuple kMembers = {&T::source,   &T::node,      &T::rank,
                                          &T::first_ns, &T::last_ns,   &T::interval_ns,
                                          &T::goodbye,  &T::goodbye_ns};
};

template <>
struct BinaryFields<OpenIssues> {
  using T = OpenIssues;
  static constexpr std::tuple kMembers = {&T::count, &T::worst_severity, &T::stalled_since_ns};
};

template <>
struct BinaryFields<JobOverview> {
  using T = JobOverview;
  static constexpr std::tuple kMembers = {
      &T::id,       &T::name,        &T::owner,          &T::reference,  &T::first_ns,
      &T::last_ns,  &T::started_ns,  &T::ended_ns,       &T::end_detail, &T::end_text,
      &T::attempts, &T::sources,     &T::found,          &T::open,       &T::samples,
      &T::bytes,    &T::raw_from_ns, &T::raw_dropped_ns, &T::archived};
};

template <>
struct BinaryFields<TimeRange> {
  using T = TimeRange;
  static constexpr std::tuple kMembers = {&T::from_ns, &T::to_ns};
};

template <>
struct BinaryFields<ReadLimits> {
  using T = ReadLimits;
  static constexpr std::tuple kMembers = {&T::series, &T::rows};
};

// Members that follow the job and the selectors.
template <>
struct BinaryFields<SampleQuery> {
  using T = SampleQuery;
  static constexpr std::tuple kMembers = {&T::range,     &T::limits,  &T::mode,
                                          &T::from_step, &T::to_step, &T::stale_markers};
};

template <>
struct BinaryFields<SeriesInfo> {
  using T = SeriesInfo;
  static constexpr std::tuple kMembers = {&T::labels, &T::kind, &T::first_ns, &T::last_ns,
                                          &T::has_steps};
};

template <>
struct BinaryFields<SampleColumn> {
  using T = SampleColumn;
  static constexpr std::tuple kMembers = {&T::labels, &T::kind, &T::times, &T::values, &T::steps};
};

void PutLife(const JobOverview& life, BinaryWriter* out) { Put(life, out); }

JobLifePtr TakeLife(BinaryReader* in) {
  auto life = std::make_shared<JobOverview>();
  Take(in, life.get());
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
  Put(query, out);
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
  Take(in, &query);
  return query;
}

void PutSeries(const std::vector<SeriesInfo>& series, BinaryWriter* out) { Put(series, out); }

std::vector<SeriesInfo> TakeSeries(BinaryReader* in) {
  std::vector<SeriesInfo> out;
  Take(in, &out);
  return out;
}

void PutSamples(const std::vector<SampleColumn>& columns, BinaryWriter* out) { Put(columns, out); }

std::vector<SampleColumn> TakeSamples(BinaryReader* in) {
  std::vector<SampleColumn> out;
  Take(in, &out);
  for (const SampleColumn& column : out) {
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
