#include "services/adapters/embedded_log/format/committed_state.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {
constexpr size_t kItemsPerFrame = 512;
}  // namespace

class CommittedState::Partition {
 public:
  Partition(const PartitionKey& key_in, std::string name_in, std::string dir_in)
      : key(key_in), name(std::move(name_in)), dir(std::move(dir_in)) {}

  const PartitionKey key;
  const std::string name;
  const std::string dir;
  // The following fields are guarded by CommittedState::mutex_.
  PartitionContent content;
  std::vector<Wakeup*> waiters;

  std::vector<SegmentInfo>::iterator Find(const Segment* segment) {
    return std::find_if(content.segments.begin(), content.segments.end(),
                        [&](const SegmentInfo& info) { return info.segment.get() == segment; });
  }
};

CommittedState::CommittedState() = default;
CommittedState::~CommittedState() = default;

CommittedState::Partition* CommittedState::Add(const PartitionKey& key, std::string name,
                                               std::string dir, PartitionContent content) {
  auto partition = std::make_unique<Partition>(key, std::move(name), std::move(dir));
  partition->content = std::move(content);
  MutexLock lock(&mutex_);
  std::unique_ptr<Partition>& slot = partitions_[key];
  PITWALL_CHECK(slot == nullptr);
  slot = std::move(partition);
  return slot.get();
}

void CommittedState::PublishPartition(const PartitionUpdate& update) {
  PartitionContent& content = update.partition->content;
  if (!update.new_segments.empty()) {
    if (!content.segments.empty() && content.segments.back().writable) {
      content.segments.back().bytes = update.sealed_bytes;
      content.segments.back().last_time_ns = update.sealed_time_ns;
    }
    content.segments.insert(content.segments.end(), update.new_segments.begin(),
                            update.new_segments.end());
  }
  content.segments.back().bytes = update.last_segment_bytes;
  content.segments.back().last_time_ns = update.last_time_ns;
  content.end_offset = update.end_offset;
  content.last_time_ns = update.last_time_ns;
}

void CommittedState::Publish(const Publication& publication) {
  MutexLock lock(&mutex_);
  for (const PartitionUpdate& update : publication.partitions) PublishPartition(update);
  for (const GroupPosition& position : publication.positions) {
    positions_[{position.group, position.key}] = position.at;
  }
  for (const CommitterEpoch& epoch : publication.epochs) epochs_[epoch.id] = epoch.epoch;
  for (const PartitionUpdate& update : publication.partitions) {
    for (Wakeup* waiter : update.partition->waiters) waiter->Wake();
  }
}

ReadView CommittedState::View(const Partition* partition, int64_t offset) const {
  MutexLock lock(&mutex_);
  const PartitionContent& content = partition->content;
  ReadView view;
  view.segment_end = content.end_offset;
  if (offset >= content.end_offset) return view;
  const std::vector<SegmentInfo>& segments = content.segments;
  const auto above = std::upper_bound(segments.begin(), segments.end(), offset,
                                      [](int64_t wanted, const SegmentInfo& info) {
                                        return wanted < info.segment->name().base_offset;
                                      });
  const int64_t next_base =
      above == segments.end() ? content.end_offset : above->segment->name().base_offset;
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

int64_t CommittedState::StartOffset(const Partition* partition) const {
  MutexLock lock(&mutex_);
  return partition->content.start_offset;
}

int64_t CommittedState::LostUntil(const Partition* partition, int64_t from, int64_t to) const {
  MutexLock lock(&mutex_);
  int64_t until = from;
  for (const Lost& lost : partition->content.lost) {
    if (lost.from < to && lost.to > from) until = std::max(until, std::min(lost.to, to));
  }
  return until;
}

std::vector<LostRange> CommittedState::ExpiredLost(const Partition* partition,
                                                   int64_t cutoff_ns) const {
  MutexLock lock(&mutex_);
  std::vector<LostRange> expired;
  for (const Lost& lost : partition->content.lost) {
    if (lost.noted_ns < cutoff_ns) {
      expired.push_back({partition->key, lost.from, lost.to, lost.noted_ns});
    }
  }
  return expired;
}

void CommittedState::ForgetLost(Partition* partition, const std::vector<LostRange>& ranges) {
  MutexLock lock(&mutex_);
  for (const LostRange& range : ranges) {
    std::erase_if(partition->content.lost, [&](const Lost& lost) {
      return lost.from == range.from && lost.to == range.to && lost.noted_ns == range.noted_ns;
    });
  }
}

void CommittedState::NoteTopic(const TopicFact& topic) {
  MutexLock lock(&mutex_);
  topics_[topic.number] = topic;
}

int64_t CommittedState::EndOffset(const Partition* partition) const {
  MutexLock lock(&mutex_);
  return partition->content.end_offset;
}

void CommittedState::AddWaiter(Partition* partition, Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  partition->waiters.push_back(wakeup);
}

void CommittedState::RemoveWaiter(Partition* partition, Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  std::erase(partition->waiters, wakeup);
}

const std::string& CommittedState::Name(const Partition* partition) { return partition->name; }
const std::string& CommittedState::Dir(const Partition* partition) { return partition->dir; }
const PartitionKey& CommittedState::Key(const Partition* partition) { return partition->key; }

std::optional<CommittedOffset> CommittedState::Position(std::string_view group,
                                                        const PartitionKey& key) const {
  MutexLock lock(&mutex_);
  const auto found = positions_.find({std::string(group), key});
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

uint64_t CommittedState::Epoch(std::string_view id) const {
  MutexLock lock(&mutex_);
  const auto found = epochs_.find(id);
  return found == epochs_.end() ? 0 : found->second;
}

Status CommittedState::CheckRoom(const GroupPosition* position, std::string_view committer) const {
  MutexLock lock(&mutex_);
  if (position != nullptr && positions_.size() >= kMaxGroupPositions &&
      !positions_.contains({position->group, position->key})) {
    return ResourceExhausted(Cat("too many group positions (limit ", kMaxGroupPositions, ")"));
  }
  if (!committer.empty() && epochs_.size() >= kMaxCommitters && !epochs_.contains(committer)) {
    return ResourceExhausted(Cat("too many transactional IDs (limit ", kMaxCommitters, ")"));
  }
  return OkStatus();
}

PartitionContent CommittedState::Content(const Partition* partition) const {
  MutexLock lock(&mutex_);
  return partition->content;
}

void CommittedState::RemoveThrough(Partition* partition, const Segment* last) {
  MutexLock lock(&mutex_);
  std::vector<SegmentInfo>& segments = partition->content.segments;
  const auto found = partition->Find(last);
  PITWALL_CHECK(found != segments.end());
  PartitionContent& content = partition->content;
  const auto next = std::next(found);
  content.start_offset =
      next == segments.end() ? content.end_offset : next->segment->name().base_offset;
  std::erase_if(content.lost, [&](const Lost& lost) { return lost.to <= content.start_offset; });
  segments.erase(segments.begin(), next);
}

void CommittedState::Replace(Partition* partition, const Segment* first, const Segment* last,
                             SegmentInfo merged) {
  MutexLock lock(&mutex_);
  std::vector<SegmentInfo>& segments = partition->content.segments;
  const auto from = partition->Find(first);
  const auto to = partition->Find(last);
  PITWALL_CHECK(from != segments.end() && to != segments.end() && from <= to);
  *from = std::move(merged);
  segments.erase(std::next(from), std::next(to));
}

void CommittedState::SetLastTime(Partition* partition, const Segment* segment,
                                 int64_t last_time_ns) {
  MutexLock lock(&mutex_);
  const auto found = partition->Find(segment);
  if (found != partition->content.segments.end()) found->last_time_ns = last_time_ns;
}

std::vector<Frame> CommittedState::Snapshot(uint64_t sequence) const {
  std::vector<Frame> frames;
  const auto open = [&]() -> Frame& {
    const size_t items = frames.empty()
                             ? kItemsPerFrame
                             : frames.back().ends.size() + frames.back().positions.size() +
                                   frames.back().epochs.size() + frames.back().topics.size() +
                                   frames.back().segments.size() + frames.back().lost.size();
    if (items >= kItemsPerFrame) {
      frames.emplace_back();
      frames.back().kind = FrameKind::kState;
      frames.back().sequence = sequence;
      frames.back().synced_sequence = sequence;
    }
    return frames.back();
  };
  MutexLock lock(&mutex_);
  for (const auto& [number, topic] : topics_) open().topics.push_back(topic);
  for (const auto& [key, partition] : partitions_) {
    const PartitionContent& content = partition->content;
    if (content.end_offset == 0) continue;
    if (content.start_offset > 0) open().starts.push_back({key, content.start_offset});
    for (const Lost& lost : content.lost) {
      open().lost.push_back({key, lost.from, lost.to, lost.noted_ns});
    }
    for (size_t i = 0; i < content.segments.size(); ++i) {
      const SegmentInfo& info = content.segments[i];
      const bool last = i + 1 == content.segments.size();
      if (last && info.writable) break;
      const SegmentName& name = info.segment->name();
      const int64_t behind =
          last ? content.end_offset : content.segments[i + 1].segment->name().base_offset;
      open().segments.push_back({key, name.base_offset, name.compacted() ? name.end_offset : behind,
                                 name.run, info.bytes});
    }
    PartitionEnd end;
    end.key = key;
    end.from_offset = end.to_offset = content.end_offset;
    end.last_time_ns = content.last_time_ns;
    if (!content.segments.empty() && content.segments.back().writable) {
      end.segment_base = content.segments.back().segment->name().base_offset;
      end.from_bytes = end.to_bytes = content.segments.back().bytes;
    } else {
      // The file does not exist yet, but the next commit creates it.
      end.segment_base = content.end_offset;
    }
    open().ends.push_back(end);
  }
  for (const auto& [key, at] : positions_) {
    open().positions.push_back({std::get<0>(key), std::get<1>(key), at});
  }
  for (const auto& [id, epoch] : epochs_) open().epochs.push_back({id, epoch});
  Frame end;
  end.kind = FrameKind::kCheckpointEnd;
  end.sequence = sequence;
  end.synced_sequence = sequence;
  frames.push_back(std::move(end));
  return frames;
}

std::pair<int64_t, int64_t> CommittedState::Totals() const {
  MutexLock lock(&mutex_);
  std::pair<int64_t, int64_t> totals{0, 0};
  for (const auto& [key, partition] : partitions_) {
    totals.first += static_cast<int64_t>(partition->content.segments.size());
    for (const SegmentInfo& info : partition->content.segments) totals.second += info.bytes;
  }
  return totals;
}

}  // namespace pitwall::log
