#include "services/adapters/embedded_log/format/retention_clock.h"

#include <string_view>
#include <utility>

#include "services/adapters/files/file.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

// File with the last wall time accepted for retention, in nanoseconds as text. After a restart, the
// log continues from that time.
constexpr std::string_view kAgeFile = "retention-time";
constexpr size_t kMaxAgeBytes = 64;
constexpr int64_t kSaveAgeNs = 600 * kNanosPerSecond;

}  // namespace

StatusOr<RetentionClock> RetentionClock::Load(const std::string& dir, bool has_records,
                                              Clock* clock) {
  RetentionClock loaded(Cat(dir, "/", kAgeFile), clock);
  const StatusOr<std::string> text = files::ReadWhole(loaded.path_, kMaxAgeBytes);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  const std::optional<int64_t> accepted = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
  if (text.ok() && !accepted.has_value())
    PITWALL_LOG(kWarning, "log", loaded.path_,
                ": does not contain a time in nanoseconds; retention starts in a day");
  loaded.saved_age_ns_ = accepted;
  // A log without records has nothing to lose, so the current wall time is accepted.
  if (accepted.has_value() || !has_records) {
    loaded.age_clock_.Restore(accepted.value_or(clock->WallNs()));
  }
  loaded.AcceptedTime();  // monotonic time counts from here
  return loaded;
}

std::optional<int64_t> RetentionClock::AcceptedTime() {
  const std::optional<int64_t> accepted =
      age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());
  if (const bool now = age_clock_.suspended(); now != std::exchange(suspended_, now)) {
    PITWALL_LOG(kWarning, "log",
                now ? "retention is suspended: the wall clock is more than an hour later than "
                      "expected; the new time is accepted if the difference lasts for a day"
                    : "retention has resumed");
  }
  if (!accepted.has_value()) return accepted;
  if (saved_age_ns_.has_value() && *accepted >= *saved_age_ns_ &&
      *accepted - *saved_age_ns_ < kSaveAgeNs)
    return accepted;
  // If the disk is full, the file keeps the older time, and a later start waits longer than
  // necessary.
  const Status saved = files::ReplaceFile(path_, Cat(*accepted, "\n"), nullptr);
  if (saved.ok()) saved_age_ns_ = accepted;
  return accepted;
}

}  // namespace pitwall::log
