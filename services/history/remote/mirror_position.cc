#include "services/history/remote/mirror_position.h"

#include <algorithm>
#include <string_view>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kEnd = "end=";  // key in the stored position's metadata

}  // namespace

StatusOr<MirrorPosition::Restored> MirrorPosition::Restore(const CommittedOffset& committed,
                                                           int64_t log_start) {
  RestoreStart(log_start);
  restored_ = committed.offset;
  const LogFingerprint mark = ParseLogMark(committed.metadata);
  const Status same = CheckLogMark(log_, at_, committed.offset, mark);
  if (absl::IsFailedPrecondition(same)) {
    PITWALL_LOG(kWarning, "insights", "remote_write: ", ToStd(same.message()),
                "; reading the log from its start");
    return Restored::kReplaced;
  }
  RETURN_IF_ERROR(same);
  begin_ = std::max(log_start, committed.offset);
  mark_ = mark;
  for (const std::string_view field : Split(committed.metadata, ';')) {
    if (StartsWith(field, kEnd)) doubtful_end_ = ParseInt(field.substr(kEnd.size())).value_or(-1);
  }
  return committed.offset < log_start ? Restored::kGap : Restored::kComplete;
}

void MirrorPosition::RestoreStart(int64_t log_start) {
  begin_ = log_start;
  mark_ = {};
  doubtful_end_ = restored_ = sent_ = -1;
}

void MirrorPosition::SkipTo(int64_t offset) {
  if (offset <= begin_) return;
  doubtful_end_ = -1;
  begin_ = offset;
}

void MirrorPosition::Begin() {
  sent_ = begin_;
  sent_mark_ = mark_;
  saved_ = restored_;
}

Status MirrorPosition::BeginRequest(int64_t end) {
  doubtful_end_ = end;
  return Save();
}

void MirrorPosition::EndRequest(int64_t next) {
  doubtful_end_ = -1;
  sent_ = std::max(next, begin_);
  sent_mark_ = mark_;
}

Status MirrorPosition::Save() {
  if (sent_ < 0 || (sent_ == saved_ && doubtful_end_ < 0)) return OkStatus();
  std::string metadata = EncodeLogMark(sent_mark_);
  if (doubtful_end_ >= 0) CatTo(metadata, ";", kEnd, doubtful_end_);
  RETURN_IF_ERROR(log_->StorePosition(group_, at_, {sent_, metadata}));
  saved_ = sent_;
  return OkStatus();
}

}  // namespace pitwall::history
