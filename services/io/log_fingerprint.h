// Mark stored next to a reader's position, to detect after a restart whether the log was replaced
// (docs/decisions/0022-store-a-log-mark-with-each-position.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall {

// Newest record before a position: a different record at its offset means another log.
struct LogFingerprint {
  int64_t offset = -1;         // -1: of a lost log
  int64_t append_time_ns = 0;  // 0: unknown
};

// Returns "mark=<offset>@<append time>", a field of a position's metadata.
std::string EncodeLogMark(const LogFingerprint& mark);
// Parses metadata of fields separated by ';'. Returns an empty mark without the field.
LogFingerprint ParseLogMark(std::string_view metadata);

// FailedPrecondition, beginning with "log_truncated": `position` and `mark` belong to another log,
// since this one ends before the position or has another record at the mark.
Status CheckLogMark(Log* log, const TopicPartition& at, int64_t position,
                    const LogFingerprint& mark);

// Returns the offset of the first record appended after the mark's: the start of the log if the
// mark has no time, the end if no record is newer.
StatusOr<int64_t> FirstAfter(Log* log, const TopicPartition& at, const LogFingerprint& mark);

}  // namespace pitwall
