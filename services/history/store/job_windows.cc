#include "services/history/store/job_windows.h"

#include <algorithm>
#include <utility>

namespace pitwall::history {

void JobWindows::Restore(SegmentMeta facts, std::map<OriginKey, SequenceRanges> seen) {
  WindowEntry& window = windows_[facts.window_ns];
  window.sealed = std::move(facts);
  window.seen = std::move(seen);
}

MemTable* JobWindows::HeadOf(int64_t window_ns) const {
  const auto at = windows_.find(window_ns);
  return at == windows_.end() ? nullptr : at->second.head.get();
}

void JobWindows::Seal(int64_t window_ns, SegmentMeta facts) {
  WindowEntry& window = windows_[window_ns];
  if (window.head != nullptr) head_bytes_ -= window.head->bytes();
  window.head = nullptr;
  window.first_offset = INT64_MAX;
  window.sealed = std::move(facts);
  ++version_;
}

Status JobWindows::MoveHead(int64_t window_ns, const std::shared_ptr<MemTableFile>& file) {
  MemTable& head = *windows_.at(window_ns).head;
  const size_t bytes = head.bytes();
  const Status moved = head.MoveTo(file);
  head_bytes_ += head.bytes() - bytes;
  return moved;
}

void JobWindows::Free() { windows_ = std::map<int64_t, WindowEntry>(); }

uint64_t JobWindows::disk_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [start, window] : windows_)
    bytes += window.sealed.has_value() ? window.sealed->bytes : 0;
  return bytes;
}

void JobWindows::Fill(JobOverview* life) const {
  bool raw_dropped = false;
  life->raw_dropped_ns = 0;
  for (const auto& [start, window] : windows_) {
    if (window.sealed.has_value()) {
      life->samples += window.sealed->samples;
      life->bytes += window.sealed->bytes;
      if (!window.sealed->has_rows) {
        raw_dropped = true;
        life->raw_dropped_ns = std::max(life->raw_dropped_ns, window.sealed->dropped_ns);
        life->raw_from_ns = start + kWindowNs;
      }
    }
    if (window.head != nullptr) life->samples += window.head->samples();
  }
  if (!raw_dropped) life->raw_from_ns = 0;
}

MemTable* BatchAdmission::Admit(int64_t window_ns) {
  const auto [known, added] = admitted_.try_emplace(window_ns, nullptr);
  if (added) known->second = Enter(window_ns);
  return known->second;
}

MemTable* BatchAdmission::Enter(int64_t window_ns) {
  WindowEntry& window = windows_.windows_[window_ns];
  if (window.sealed.has_value() && !window.sealed->has_rows) {
    ++after_raw_;
    return nullptr;
  }
  if (cursor_.seen == nullptr || cursor_.window_ns != window_ns) {
    cursor_.seen = &window.seen[key_];
    cursor_.window_ns = window_ns;
  }
  if (!cursor_.seen->Add(sequence_)) {
    duplicate_ = true;
    return nullptr;
  }
  if (window.head == nullptr) {
    window.head = std::make_unique<MemTable>();
    windows_.head_bytes_ += window.head->bytes();
    window.head_since_ns = at_.now_ns;
  }
  window.first_offset = std::min(window.first_offset, at_.offset);
  return window.head.get();
}

}  // namespace pitwall::history
