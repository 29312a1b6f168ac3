#include "services/codec/lenient/skipped_records.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::lenient {

namespace {

constexpr size_t kShown = 3;

}  // namespace

void SkippedRecords::Skip(std::string_view error) {
  ++skipped_;
  if (first_.size() < kShown) first_.emplace_back(error);
}

void SkippedRecords::SkipUsed(std::string_view error) {
  --used_;
  Skip(error);
}

void SkippedRecords::Add(const SkippedRecords& other) {
  used_ += other.used_;
  skipped_ += other.skipped_;
  for (const std::string& error : other.first_) {
    if (first_.size() < kShown) first_.push_back(error);
  }
}

Status SkippedRecords::SkipInvalid(const Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  Skip(ToStd(status.message()));
  return OkStatus();
}

Status SkippedRecords::Finish(std::string_view input) const {
  if (skipped_ == 0) return OkStatus();
  if (used_ == 0) return InvalidArgument(first_.front());
  std::string text = Cat(input, ": skipped ", skipped_, " invalid ", record_,
                         skipped_ == 1 ? "" : "s", ": ", Join(first_, "; "));
  if (skipped_ > first_.size()) CatTo(text, "; and ", skipped_ - first_.size(), " more");
  PITWALL_LOG(kWarning, "import", text);
  return OkStatus();
}

}  // namespace pitwall::lenient
