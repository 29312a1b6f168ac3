// Writer for the notices of one receiver that move to the dead-letter topic.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "services/io/io.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// The pointers are borrowed. Used by a single thread.
class DeadLetterWriter {
 public:
  // `topic` is the topic of the events, and `kind` and `name` belong to the receiver.
  DeadLetterWriter(Log* log, std::string topic, std::string kind, std::string name,
                   ReceiverReport* report);

  // Appends the item. Returns false if the log did not accept it, so the caller must retry. An item
  // that is too large is appended without its body, or dropped if the log also rejects that.
  bool Write(const FeedItem& item, std::string_view reason);

 private:
  Status Append(const OutgoingRecord& record);

  Log* const log_;
  const std::string topic_;
  const std::string kind_;
  const std::string name_;
  ReceiverReport* const report_;
  std::unique_ptr<Appender> appender_;
};

}  // namespace pitwall::notifier
