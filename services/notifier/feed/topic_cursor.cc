#include "services/notifier/feed/topic_cursor.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::notifier {

constexpr size_t kHistoryBytes = size_t{4} << 20;

TopicCursor::TopicCursor(Log* log, const RecentEvents* window, std::string topic,
                         Positions positions)
    : log_(log),
      window_(window),
      topic_(std::move(topic)),
      positions_(std::move(positions)),
      readers_(positions_.size()) {
  for (size_t p = 0; p < positions_.size(); ++p)
    epochs_.push_back(window_->Epoch(static_cast<int32_t>(p)));
}

void TopicCursor::Rebase(int32_t p, int64_t position) {
  const size_t index = static_cast<size_t>(p);
  positions_[index] = position;
  epochs_[index] = window_->Epoch(p);
  readers_[index].reset();
}

Status TopicCursor::Next(size_t max, std::vector<FeedItem>* out) {
  const size_t before = out->size();
  const size_t count = positions_.size();
  caught_up_ = false;
  live_ = true;
  bool behind = false;
  for (size_t i = 0; i < count && out->size() - before < max; ++i) {
    const auto p = static_cast<int32_t>((turn_ + i) % count);
    const size_t room = max - (out->size() - before);
    const size_t index = static_cast<size_t>(p);
    if (window_->Epoch(p) != epochs_[index]) {
      reset_ = p;
      return LogWasReplaced({topic_, p});
    }
    if (window_->Read(p, room, &positions_[index], out) == RecentEvents::Place::kServed) {
      readers_[index].reset();
      continue;
    }
    live_ = false;
    behind = true;
    RETURN_IF_ERROR(ReadLog(p, room, out));
  }
  turn_ = count == 0 ? 0 : (turn_ + 1) % count;
  caught_up_ = !behind && out->size() == before;
  return OkStatus();
}

Status TopicCursor::ReadLog(int32_t p, size_t max, std::vector<FeedItem>* out) {
  const size_t index = static_cast<size_t>(p);
  std::unique_ptr<PartitionReader>& reader = readers_[index];
  if (reader == nullptr) {
    ASSIGN_OR_RETURN(reader, log_->OpenReader({topic_, p}, positions_[index]));
  }
  // The window may start after an offset gap at the end of the log.
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  if (positions_[index] >= end) {
    positions_[index] = std::max(positions_[index], window_->FirstOffset(p));
    return OkStatus();
  }
  std::vector<Record> records;
  Status polled = reader->Poll(max, kHistoryBytes, kHistoryPoll, &records);
  for (const Record& record : records) {
    StatusOr<IssueEvent> event = cloudevents::DecodeCloudEvent(record.value);
    if (event.ok()) {
      out->push_back({p, record.offset, std::make_shared<const IssueEvent>(*std::move(event)),
                      record.value.size(), record.append_time});
    } else {
      ++undecodable_;
    }
  }
  positions_[index] = reader->position();
  return polled;
}

}  // namespace pitwall::notifier
