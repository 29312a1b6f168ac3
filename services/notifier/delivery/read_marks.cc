#include "services/notifier/delivery/read_marks.h"

namespace pitwall::notifier {

void ReadMarks::Restore(const LogFingerprint& stored) {
  mark_ = stored;
  later_.clear();
}

void ReadMarks::OnRead(const LogFingerprint& record) {
  if (record.offset <= newest().offset) return;
  // The newest mark may be omitted, because a fallback to an older mark only means that slightly
  // more events are resent.
  if (later_.size() >= kMaxMarks) later_.pop_back();
  later_.push_back(record);
}

const LogFingerprint& ReadMarks::Deliver(int64_t position) {
  while (!later_.empty() && later_.front().offset < position) {
    mark_ = later_.front();
    later_.pop_front();
  }
  return mark_;
}

void ReadMarks::Replace() { Restore({-1, newest().append_time}); }

MarkState ReadMarks::state() const {
  if (mark_.offset >= 0) return MarkState::kInLog;
  return mark_.append_time == AppendTime() ? MarkState::kNone : MarkState::kInFormerLog;
}

}  // namespace pitwall::notifier
