// Writer that moves one receiver's undeliverable notices to the dead-letter topic.
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
  // `topic` is the event topic; `kind` and `name` identify the receiver.
  DeadLetterWriter(Log* log, std::string topic, std::string kind, std::string name,
                   ReceiverReport* report);

  // Appends the item. Returns false if the log did not accept the item; the caller must then retry.
  // An item that is too large is appended without its body, and dropped if the log still rejects
  // it.
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
