// Mark stored with a reader's position, used after a restart to detect that the log was replaced
// (docs/decisions/0022-store-a-log-mark-with-each-position.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall {

// Newest record before a position. If the record at that offset differs, the log was replaced.
struct LogFingerprint {
  int64_t offset = -1;     // -1 if the log was lost
  AppendTime append_time;  // 0 if unknown
};

// Returns "mark=<offset>@<append time>", a field in a position's metadata.
std::string EncodeLogMark(const LogFingerprint& mark);
// Parses metadata with fields separated by ';'. Returns an empty mark if the field is missing.
LogFingerprint ParseLogMark(std::string_view metadata);

// Errors for a log that is not the one that was read before. Their codes are FailedPrecondition,
// and their messages start with "log_truncated". `consequence` is appended after a semicolon unless
// it is empty.
// The log ends at `offset`, or its next record is there.
Status LogIsBehind(const TopicPartition& at, int64_t offset, int64_t position,
                   std::string_view consequence = "");
Status LogWasReplaced(const TopicPartition& at, std::string_view consequence = "");
// `found` has the offset of `read`, but a different append time.
Status RecordWasReplaced(const TopicPartition& at, const LogFingerprint& read, AppendTime found,
                         std::string_view consequence = "");

// Returns FailedPrecondition, starting with "log_truncated", if `position` and `mark` belong to a
// different log: this log ends before the position, or it has a different record at the mark.
Status CheckLogMark(Log* log, const TopicPartition& at, int64_t position,
                    const LogFingerprint& mark);

// Returns the offset of the first record appended after the mark. Returns the start of the log if
// the mark has no time, or the end of the log if no record is newer.
StatusOr<int64_t> FirstAfter(Log* log, const TopicPartition& at, const LogFingerprint& mark);

}  // namespace pitwall
