#include "services/notifier/delivery/dead_letter_writer.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"

namespace pitwall::notifier {

DeadLetterWriter::DeadLetterWriter(Log* log, std::string topic, std::string kind, std::string name,
                                   ReceiverReport* report)
    : log_(log),
      topic_(std::move(topic)),
      kind_(std::move(kind)),
      name_(std::move(name)),
      report_(report) {}

bool DeadLetterWriter::Write(const FeedItem& item, std::string_view reason) {
  if (appender_ == nullptr) {
    StatusOr<std::unique_ptr<Appender>> appender = log_->OpenAppender();
    if (!appender.ok()) {
      report_->RecordError(ToStd(appender.status().message()));
      return false;
    }
    appender_ = *std::move(appender);
  }
  OutgoingRecord record;
  record.topic = kDeadLetterTopic;
  record.key = item.event->job;
  record.value = item.action != nullptr   ? EncodeAction(*item.action)
                 : item.notice != nullptr ? EncodeNotice(*item.notice)
                                          : cloudevents::EncodeCloudEvent(*item.event);
  record.headers = {{"reason", std::string(reason)},
                    {"topic", topic_},
                    {"partition", Cat(item.partition)},
                    {"offset", Cat(item.offset)},
                    {kind_, name_}};
  Status appended = Append(record);
  if (!absl::IsInvalidArgument(appended)) return appended.ok();
  // The record may be too large. Retry without its body, and drop the record if that also fails.
  record.headers.emplace_back("original_bytes", Cat(std::exchange(record.value, "").size()));
  appended = Append(record);
  return appended.ok() || absl::IsInvalidArgument(appended);
}

Status DeadLetterWriter::Append(const OutgoingRecord& record) {
  Status appended = appender_->Append({record});
  if (!appended.ok()) report_->RecordError(ToStd(appended.message()));
  return appended;
}

}  // namespace pitwall::notifier
