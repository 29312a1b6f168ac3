#include "services/io/topic_table.h"

#include <utility>

namespace pitwall {

TopicTable::TopicTable(Clock* clock, Log* log, std::string topic, Handlers handlers)
    : log_(log),
      handlers_(std::move(handlers)),
      follower_(clock, log, {std::move(topic), 0}, {.check_interval = Duration::Zero()}) {}

Status TopicTable::ReadToEnd() {
  return follower_.ReadToEnd([&](FollowedRecords* read) {
    Apply(*read);
    return OkStatus();
  });
}

StatusOr<bool> TopicTable::ReadNew() {
  FollowedRecords read;
  const Status polled = follower_.Poll(Duration::Zero(), &read);
  Apply(read);
  RETURN_IF_ERROR(polled);
  return !read.records.empty() || !read.replaced.ok();
}

void TopicTable::Apply(const FollowedRecords& read) {
  if (!read.replaced.ok()) handlers_.replaced(read.replaced);
  for (const Record& record : read.records) {
    if (record.tombstone) {
      handlers_.remove(record.key);
    } else {
      handlers_.put(record);
    }
  }
}

Status TopicTable::Write(std::vector<OutgoingRecord> records) {
  MutexLock lock(&mutex_);
  if (appender_ == nullptr) {
    ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
  }
  return appender_->Append(std::move(records));
}

}  // namespace pitwall
