#include "services/insights/keep/job_reader.h"

#include <algorithm>
#include <tuple>

#include "services/base/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::insights {

std::vector<JobLifePtr> JobReader::Jobs() const {
  std::vector<JobLifePtr> out;
  for (const KeptJobPtr& job : store_->All()) {
    MutexLock lock(&job->mutex());
    out.push_back(std::make_shared<const JobLife>(job->Life()));
  }
  std::sort(out.begin(), out.end(), [](const JobLifePtr& a, const JobLifePtr& b) {
    return std::tie(b->last_ns, a->id) < std::tie(a->last_ns, b->id);
  });
  return out;
}

StatusOr<KeptJobPtr> JobReader::Find(std::string_view id) const {
  if (KeptJobPtr job = store_->Find(id); job != nullptr) return job;
  return NotFound(Cat("job ", Quote(id), ": the history has no such job"));
}

StatusOr<JobLifePtr> JobReader::FindJob(std::string_view wanted) const {
  if (const KeptJobPtr job = store_->Find(wanted); job != nullptr) {
    MutexLock lock(&job->mutex());
    return std::make_shared<const JobLife>(job->Life());
  }
  std::vector<JobLifePtr> named, begun;
  for (JobLifePtr& life : Jobs()) {
    if (life->name == wanted) named.push_back(life);
    if (!wanted.empty() && StartsWith(life->id, wanted)) begun.push_back(life);
  }
  const std::vector<JobLifePtr>& found = named.empty() ? begun : named;
  if (found.empty()) return NotFound(Cat("job ", Quote(wanted), ": the history has no such job"));
  if (found.size() > 1) {
    return InvalidArgument(Cat("job ", Quote(wanted), ": ", found.size(), " jobs have it, e.g. ",
                               found[0]->id, " and ", found[1]->id, "; give the whole id"));
  }
  return found[0];
}

Status JobReader::ForEachRecord(std::string_view id, EventTopic topic,
                                const std::function<Status(const std::string&)>& value) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(id));
  // With the job's lock no transaction can take over what is in memory in between; one that just
  // did is told by its numbers.
  MutexLock lock(&job->mutex());
  uint64_t last = 0;
  const Status walked =
      store_->database().ForEachOf(kEventRow, id, [&](store::DatabaseRow row) -> Status {
        ASSIGN_OR_RETURN(const KeptRecord record, DecodeRecord(row));
        last = record.number;
        return record.topic == topic ? value(record.value) : OkStatus();
      });
  RETURN_IF_ERROR(walked);
  for (const KeptRecord& record : job->records()) {
    if (record.number > last && record.topic == topic) RETURN_IF_ERROR(value(record.value));
  }
  return OkStatus();
}

StatusOr<std::vector<IssueEventPtr>> JobReader::Events(std::string_view job) const {
  std::vector<IssueEventPtr> out;
  const Status walked2 =
      ForEachRecord(job, EventTopic::kIssues, [&](const std::string& value) -> Status {
        ASSIGN_OR_RETURN(IssueEvent event, cloudevents::DecodeCloudEvent(value));
        out.push_back(std::make_shared<const IssueEvent>(std::move(event)));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked2);
  return out;
}

StatusOr<std::vector<ActionEvent>> JobReader::Actions(std::string_view job) const {
  std::vector<ActionEvent> out;
  const Status walked3 =
      ForEachRecord(job, EventTopic::kActions, [&](const std::string& value) -> Status {
        ASSIGN_OR_RETURN(ActionEvent action, cloudevents::DecodeActionEvent(value));
        out.push_back(std::move(action));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked3);
  return out;
}

StatusOr<std::vector<RankCapture>> JobReader::Captures(std::string_view job) const {
  std::vector<RankCapture> out;
  const Status walked4 =
      ForEachRecord(job, EventTopic::kCaptures, [&](const std::string& value) -> Status {
        ASSIGN_OR_RETURN(RankCapture capture, cloudevents::DecodeRankCapture(value));
        out.push_back(std::move(capture));
        return OkStatus();
      });
  RETURN_IF_ERROR(walked4);
  return out;
}

StatusOr<std::vector<KeptSpan>> JobReader::SpansIn(const SpanQuery& query, bool by_start) const {
  ASSIGN_OR_RETURN(const KeptJobPtr job, Find(query.job));
  const auto wanted = [&](const KeptSpan& s) {
    const Span& span = s.span;
    const bool in =
        by_start ? span.start_ns >= query.range.from_ns
                 : span.end_ns > query.range.from_ns ||
                       (span.end_ns == span.start_ns && span.start_ns >= query.range.from_ns);
    const auto one_of = [](const auto& list, const auto& value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    return in && span.start_ns < query.range.to_ns && one_of(query.ranks, s.origin->rank) &&
           one_of(query.kinds, span.kind) && (query.name.empty() || span.name == query.name) &&
           (query.mode.empty() || span.mode == query.mode) &&
           (query.from_step == kNoStep || span.step >= query.from_step) &&
           span.step < query.to_step;
  };
  std::vector<KeptSpan> out;
  // Windows hold spans by their ends; long ones began before the window.
  constexpr int kTries = 8;
  for (int i = 0;; ++i) {
    out.clear();
    std::vector<SegmentFacts> sealed;
    uint64_t version = 0;
    {
      MutexLock lock(&job->mutex());
      version = job->version();
      const int64_t first =
          query.range.from_ns <= kMinPosition ? kMinPosition : WindowOf(query.range.from_ns);
      for (auto at = job->windows().lower_bound(first); at != job->windows().end(); ++at) {
        const KeptWindow& window = at->second;
        if (window.sealed.has_value() && window.sealed->least_start_ns < query.range.to_ns)
          sealed.push_back(*window.sealed);
        if (window.head == nullptr) continue;
        for (const KeptSpan& span : window.head->spans()) {
          if (wanted(span)) out.push_back(span);
        }
      }
    }
    Status status;
    for (const SegmentFacts& facts : sealed) {
      std::vector<KeptSpan> spans;
      auto segment = store_->Segment(facts);
      status = segment.ok() ? (*segment)->ReadSpans(&spans) : segment.status();
      if (!status.ok()) break;
      for (KeptSpan& span : spans) {
        if (wanted(span)) out.push_back(std::move(span));
      }
      if (out.size() > query.limits.rows) break;
    }
    if (out.size() > query.limits.rows) {
      return ResourceExhausted(Cat("spans: more than ", query.limits.rows,
                                   " match; narrow range, ranks, kinds or steps"));
    }
    if (status.ok()) return out;
    MutexLock lock(&job->mutex());
    if (!absl::IsDataLoss(status) || job->version() == version || i == kTries) return status;
  }
}

StatusOr<std::vector<SpanRow>> JobReader::Spans(const SpanQuery& query) const {
  ASSIGN_OR_RETURN(std::vector<KeptSpan> spans, SpansIn(query, false));
  std::sort(spans.begin(), spans.end(), [](const KeptSpan& a, const KeptSpan& b) {
    const auto key = [](const KeptSpan& s) {
      return std::tie(s.span.start_ns, s.origin->rank, s.span.kind, s.span.name, s.span.end_ns,
                      s.origin->source, s.origin->boot, s.sequence, s.span.step, s.span.mode);
    };
    return key(a) < key(b);
  });
  std::vector<SpanRow> out;
  out.reserve(spans.size());
  for (KeptSpan& s : spans)
    out.push_back({s.origin->source, s.origin->node, s.origin->rank, std::move(s.span)});
  return out;
}

StatusOr<std::vector<OperatorTotal>> JobReader::Operators(const SpanQuery& query) const {
  ASSIGN_OR_RETURN(const std::vector<KeptSpan> spans, SpansIn(query, true));
  std::map<std::tuple<int64_t, Span::Kind, std::string>, OperatorTotal> totals;
  for (const KeptSpan& s : spans) {
    const int64_t length = s.span.end_ns - s.span.start_ns;
    OperatorTotal& total = totals[{s.origin->rank, s.span.kind, s.span.name}];
    total.min_ns = total.count == 0 ? length : std::min(total.min_ns, length);
    total.max_ns = std::max(total.max_ns, length);
    total.total_ns += length;
    ++total.count;
  }
  std::vector<OperatorTotal> out;
  for (auto& [key, total] : totals) {
    std::tie(total.rank, total.kind, total.name) = key;
    out.push_back(std::move(total));
  }
  return out;
}

}  // namespace pitwall::insights
