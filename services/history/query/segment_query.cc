#include "services/history/query/segment_query.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "services/base/cancellation.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"
#include "services/history/query/window_view.h"

namespace pitwall::history {
namespace {

// Calls `value` with each record of the topic, in ingestion order.
Status ForEachRecord(const HistoryStore& store, std::string_view id, EventTopic topic,
                     const std::function<Status(const std::string&)>& value) {
  ASSIGN_OR_RETURN(const StoredJobPtr job, FindStoredJob(store, id));
  // The records in memory are read first. If a transaction saves some of them before the catalog is
  // read, their record numbers identify the duplicates.
  std::vector<KeptRecord> unsaved;
  {
    MutexLock lock(&job->mutex());
    for (const KeptRecord& record : job->records()) {
      if (record.topic == topic) unsaved.push_back(record);
    }
  }
  // Values are parsed later, without the locks of the job and the catalog, so that ingestion does
  // not have to wait.
  uint64_t last = 0;
  std::vector<std::string> saved;
  const Status status =
      store.database().ForEachOf(kEventRow, id, [&](store::DatabaseRow row) -> Status {
        ASSIGN_OR_RETURN(KeptRecord record, DecodeRecord(row));
        last = record.number;
        if (record.topic == topic) saved.push_back(std::move(record.value));
        return OkStatus();
      });
  RETURN_IF_ERROR(status);
  for (const std::string& one : saved) {
    RETURN_IF_ERROR(CheckCanceled());
    RETURN_IF_ERROR(value(one));
  }
  for (const KeptRecord& record : unsaved) {
    RETURN_IF_ERROR(CheckCanceled());
    if (record.number > last) RETURN_IF_ERROR(value(record.value));
  }
  return OkStatus();
}

}  // namespace

JobList SegmentQuery::ListJobs() const {
  JobList out;
  for (const StoredJobPtr& job : store_->All()) {
    MutexLock lock(&job->mutex());
    out.jobs.push_back(job->SharedLife());
  }
  std::sort(out.jobs.begin(), out.jobs.end(), [](const JobLifePtr& a, const JobLifePtr& b) {
    return std::tie(b->last_ns, a->id) < std::tie(a->last_ns, b->id);
  });
  return out;
}

StatusOr<JobLifePtr> SegmentQuery::FindJob(std::string_view wanted) const {
  if (JobLifePtr life = store_->LifeOf(wanted); life != nullptr) return life;
  std::vector<JobLifePtr> named, begun;
  for (JobLifePtr& life : Jobs()) {
    if (life->name == wanted) named.push_back(life);
    if (!wanted.empty() && StartsWith(life->id, wanted)) begun.push_back(life);
  }
  const std::vector<JobLifePtr>& found = named.empty() ? begun : named;
  if (found.empty()) return NotFound(Cat("job ", Quote(wanted), ": the history has no such job"));
  if (found.size() > 1) {
    return InvalidArgument(Cat("job ", Quote(wanted), ": ", found.size(), " jobs match, such as ",
                               found[0]->id, " and ", found[1]->id, "; use the complete ID"));
  }
  return found[0];
}

StatusOr<JobRecords> SegmentQuery::Records(std::string_view job, EventTopic topic) const {
  JobRecords out;
  std::set<std::string> known;  // duplicates are counted as one notification
  const Status status = ForEachRecord(*store_, job, topic, [&](const std::string& value) -> Status {
    switch (topic) {
      case EventTopic::kIssues: {
        ASSIGN_OR_RETURN(IssueEvent event, cloudevents::DecodeCloudEvent(value));
        out.events.push_back(std::make_shared<const IssueEvent>(std::move(event)));
        break;
      }
      case EventTopic::kActions: {
        ASSIGN_OR_RETURN(ActionEvent action, cloudevents::DecodeActionEvent(value));
        out.actions.push_back(std::move(action));
        break;
      }
      case EventTopic::kCaptures: {
        ASSIGN_OR_RETURN(RankCapture capture, cloudevents::DecodeRankCapture(value));
        out.captures.push_back(std::move(capture));
        break;
      }
      case EventTopic::kNotification: {
        ASSIGN_OR_RETURN(NotificationRecord record, cloudevents::DecodeNotification(value));
        if (known.insert(record.id).second) out.notifications.push_back(std::move(record));
        break;
      }
    }
    return OkStatus();
  });
  RETURN_IF_ERROR(status);
  return out;
}

}  // namespace pitwall::history
