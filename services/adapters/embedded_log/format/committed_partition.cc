#include "services/adapters/embedded_log/format/committed_partition.h"

#include <algorithm>
#include <iterator>

#include "services/base/check.h"

namespace pitwall::log {

void CommittedPartition::Apply(const PartitionUpdate& update) {
  if (!update.new_segments.empty()) {
    if (!content_.segments.empty() && content_.segments.back().writable) {
      content_.segments.back().bytes = update.sealed_bytes;
      content_.segments.back().last_time_ns = update.sealed_time_ns;
    }
    content_.segments.insert(content_.segments.end(), update.new_segments.begin(),
                             update.new_segments.end());
  }
  content_.segments.back().bytes = update.last_segment_bytes;
  content_.segments.back().last_time_ns = update.last_time_ns;
  content_.end_offset = update.end_offset;
  content_.last_time_ns = update.last_time_ns;
}

void CommittedPartition::Wake() const {
  for (Wakeup* waiter : waiters_) waiter->Wake();
}

ReadView CommittedPartition::View(int64_t offset) const {
  ReadView view;
  view.segment_end = content_.end_offset;
  if (offset >= content_.end_offset) return view;
  const std::vector<SegmentInfo>& segments = content_.segments;
  const auto above = std::upper_bound(segments.begin(), segments.end(), offset,
                                      [](int64_t wanted, const SegmentInfo& info) {
                                        return wanted < info.segment->name().base_offset;
                                      });
  const int64_t next_base =
      above == segments.end() ? content_.end_offset : above->segment->name().base_offset;
  if (above == segments.begin()) {
    view.kind = ReadView::Kind::kGone;
    view.resume = next_base;
    return view;
  }
  const SegmentInfo& info = *std::prev(above);
  const SegmentName& name = info.segment->name();
  view.segment_end = name.compacted() ? name.end_offset : next_base;
  if (offset >= view.segment_end) {
    view.kind = ReadView::Kind::kGone;
    view.resume = next_base;
    return view;
  }
  view.kind = ReadView::Kind::kSegment;
  view.segment = info.segment;
  view.limit = info.bytes;
  view.last = above == segments.end();
  return view;
}

int64_t CommittedPartition::LostUntil(int64_t from, int64_t to) const {
  int64_t until = from;
  for (const Lost& lost : content_.lost) {
    if (lost.from < to && lost.to > from) until = std::max(until, std::min(lost.to, to));
  }
  return until;
}

std::vector<LostRange> CommittedPartition::ExpiredLost(int64_t cutoff_ns) const {
  std::vector<LostRange> expired;
  for (const Lost& lost : content_.lost) {
    if (lost.noted_ns < cutoff_ns) {
      expired.push_back({key_, lost.from, lost.to, lost.noted_ns});
    }
  }
  return expired;
}

void CommittedPartition::ForgetLost(const std::vector<LostRange>& ranges) {
  for (const LostRange& range : ranges) {
    std::erase_if(content_.lost, [&](const Lost& lost) {
      return lost.from == range.from && lost.to == range.to && lost.noted_ns == range.noted_ns;
    });
  }
}

std::vector<SegmentInfo>::iterator CommittedPartition::Find(const Segment* segment) {
  return std::find_if(content_.segments.begin(), content_.segments.end(),
                      [&](const SegmentInfo& info) { return info.segment.get() == segment; });
}

void CommittedPartition::RemoveThrough(const Segment* last) {
  std::vector<SegmentInfo>& segments = content_.segments;
  const auto found = Find(last);
  PITWALL_CHECK(found != segments.end());
  const auto next = std::next(found);
  content_.start_offset =
      next == segments.end() ? content_.end_offset : next->segment->name().base_offset;
  std::erase_if(content_.lost, [&](const Lost& lost) { return lost.to <= content_.start_offset; });
  segments.erase(segments.begin(), next);
}

void CommittedPartition::Replace(const Segment* first, const Segment* last, SegmentInfo merged) {
  std::vector<SegmentInfo>& segments = content_.segments;
  const auto from = Find(first);
  const auto to = Find(last);
  PITWALL_CHECK(from != segments.end() && to != segments.end() && from <= to);
  *from = std::move(merged);
  segments.erase(std::next(from), std::next(to));
}

void CommittedPartition::SetLastTime(const Segment* segment, int64_t last_time_ns) {
  const auto found = Find(segment);
  if (found != content_.segments.end()) found->last_time_ns = last_time_ns;
}

void CommittedPartition::AddTo(CheckpointFrames* frames) const {
  if (content_.end_offset == 0) return;
  if (content_.start_offset > 0) frames->Open().starts.push_back({key_, content_.start_offset});
  for (const Lost& lost : content_.lost) {
    frames->Open().lost.push_back({key_, lost.from, lost.to, lost.noted_ns});
  }
  for (size_t i = 0; i < content_.segments.size(); ++i) {
    const SegmentInfo& info = content_.segments[i];
    const bool last = i + 1 == content_.segments.size();
    if (last && info.writable) break;
    const SegmentName& name = info.segment->name();
    const int64_t behind =
        last ? content_.end_offset : content_.segments[i + 1].segment->name().base_offset;
    frames->Open().segments.push_back({key_, name.base_offset,
                                       name.compacted() ? name.end_offset : behind, name.run,
                                       info.bytes});
  }
  PartitionEnd end;
  end.key = key_;
  end.from_offset = end.to_offset = content_.end_offset;
  end.last_time_ns = content_.last_time_ns;
  if (!content_.segments.empty() && content_.segments.back().writable) {
    end.segment_base = content_.segments.back().segment->name().base_offset;
    end.from_bytes = end.to_bytes = content_.segments.back().bytes;
  } else {
    // The file does not exist yet, but the next commit creates it.
    end.segment_base = content_.end_offset;
  }
  frames->Open().ends.push_back(end);
}

int64_t CommittedPartition::CountBytes() const {
  int64_t bytes = 0;
  for (const SegmentInfo& info : content_.segments) bytes += info.bytes;
  return bytes;
}

}  // namespace pitwall::log
