// Mark that a reader stores beside its position, to detect after a restart whether the log is the
// one that it read (docs/decisions/0022-store-a-log-mark-with-each-position.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall {

// The newest record below a position: another record at its offset means another log.
struct LogFingerprint {
  int64_t offset = -1;         // -1: of a log that is gone
  int64_t append_time_ns = 0;  // 0: not known
};

// "mark=<offset>@<append time>"; a field of a position's metadata.
std::string EncodeLogMark(const LogFingerprint& mark);
// Of a metadata of fields that ';' parts. Without the field: a mark that knows nothing.
LogFingerprint ParseLogMark(std::string_view metadata);

// FailedPrecondition, beginning with "log_truncated": the log is not the one that `position` and
// `mark` belong to, for it ends below the position or has another record at the mark.
Status CheckLogMark(Log* log, const TopicPartition& at, int64_t position,
                    const LogFingerprint& mark);

// The offset of the first record that was appended after the mark's: the start of the log where the
// mark knows no time, the end where nothing is newer.
StatusOr<int64_t> FirstAfter(Log* log, const TopicPartition& at, const LogFingerprint& mark);

}  // namespace pitwall
