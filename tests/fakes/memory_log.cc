#include "tests/fakes/memory_log.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::fakes {
namespace {

struct Partition {
  std::vector<Record> records;
  int64_t start = 0;  // first existing offset
  int64_t end = 0;    // next offset
};

struct Topic {
  TopicConfig config;
  std::vector<Partition> partitions;
};

}  // namespace

struct MemoryLog::State {
  explicit State(Clock* c) : clock(c) {}

  Clock* const clock;
  Mutex mutex;
  std::map<std::string, Topic, std::less<>> topics ABSL_GUARDED_BY(mutex);
  std::map<std::pair<std::string, TopicPartition>, CommittedOffset> positions
      ABSL_GUARDED_BY(mutex);
  std::map<std::string, uint64_t, std::less<>> epochs ABSL_GUARDED_BY(mutex);
  std::set<Wakeup*> waiting ABSL_GUARDED_BY(mutex);
  WriteFault fault ABSL_GUARDED_BY(mutex);
  int failing_polls ABSL_GUARDED_BY(mutex) = 0;
  Status poll_status ABSL_GUARDED_BY(mutex);

  Status CheckFault(std::string_view what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return fault ? fault(what) : OkStatus();
  }

  StatusOr<Partition*> Find(const TopicPartition& at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto topic = topics.find(at.topic);
    if (topic == topics.end()) return NotFound(Cat("topic ", at.topic, " does not exist"));
    if (at.partition < 0 || at.partition >= topic->second.config.partitions) {
      return NotFound(Cat("topic ", at.topic, " has no partition ", at.partition));
    }
    return &topic->second.partitions[static_cast<size_t>(at.partition)];
  }

  size_t largest ABSL_GUARDED_BY(mutex) = SIZE_MAX;

  Status Write(std::vector<OutgoingRecord> records) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<Partition*> targets;
    for (const OutgoingRecord& r : records) {
      const auto topic = topics.find(r.topic);
      if (topic == topics.end()) return NotFound(Cat("topic ", r.topic, " does not exist"));
      const int32_t partition =
          r.partition == kByKey ? PartitionOf(r.key, topic->second.config.partitions) : r.partition;
      ASSIGN_OR_RETURN(Partition * target, Find({r.topic, partition}));
      if (r.value.size() > largest)
        return InvalidArgument(Cat("record for ", r.topic, " is too large"));
      targets.push_back(target);
    }
    for (size_t i = 0; i < records.size(); ++i) {
      OutgoingRecord& r = records[i];
      targets[i]->records.push_back({targets[i]->end++, AppendTime::FromNs(clock->WallNs()),
                                     std::move(r.key), std::move(r.value), r.tombstone,
                                     std::move(r.headers)});
    }
    for (Wakeup* wakeup : waiting) wakeup->Wake();
    return OkStatus();
  }
};

namespace {

class MemoryReader final : public PartitionReader {
 public:
  MemoryReader(std::shared_ptr<MemoryLog::State> state, TopicPartition at, int64_t position)
      : state_(std::move(state)),
        at_(std::move(at)),
        position_(position),
        wakeup_(state_->clock->NewWakeup()) {
    MutexLock lock(&state_->mutex);
    state_->waiting.insert(wakeup_.get());
  }
  ~MemoryReader() override {
    MutexLock lock(&state_->mutex);
    state_->waiting.erase(wakeup_.get());
  }

  Status Poll(size_t max_records, size_t max_bytes, Duration timeout,
              std::vector<Record>* out) override {
    const int64_t deadline = state_->clock->MonotonicNs() + timeout.ns();
    while (true) {
      const size_t before = out->size();
      RETURN_IF_ERROR(Read(max_records, max_bytes, out));
      if (out->size() > before || interrupted_.exchange(false)) return OkStatus();
      const int64_t left = deadline - state_->clock->MonotonicNs();
      if (left <= 0) return OkStatus();
      wakeup_->Wait(left);
    }
  }
  int64_t position() const override { return position_; }
  Status Seek(int64_t offset) override {
    if (offset == kFromStart) {
      ASSIGN_OR_RETURN(position_, StartOffset());
    } else if (offset == kFromEnd) {
      ASSIGN_OR_RETURN(position_, EndOffset());
    } else {
      position_ = offset;
    }
    return OkStatus();
  }
  StatusOr<int64_t> EndOffset() override {
    MutexLock lock(&state_->mutex);
    ASSIGN_OR_RETURN(Partition * p, state_->Find(at_));
    return p->records.empty() ? p->start : p->records.back().offset + 1;
  }
  StatusOr<int64_t> StartOffset() override {
    MutexLock lock(&state_->mutex);
    ASSIGN_OR_RETURN(Partition * p, state_->Find(at_));
    return p->start;
  }
  void Interrupt() override {
    interrupted_ = true;
    wakeup_->Wake();
  }

 private:
  Status Read(size_t max_records, size_t max_bytes, std::vector<Record>* out) {
    MutexLock lock(&state_->mutex);
    if (state_->failing_polls > 0) {
      --state_->failing_polls;
      return state_->poll_status;
    }
    ASSIGN_OR_RETURN(Partition * p, state_->Find(at_));
    if (position_ < p->start) {
      const int64_t lost = std::exchange(position_, p->start);
      return DataLoss(Cat(at_.topic, "/", at_.partition, ": records at offsets ", lost, " to ",
                          p->start - 1, " are lost"));
    }
    auto at = std::lower_bound(
        p->records.begin(), p->records.end(), position_,
        [](const Record& record, int64_t offset) { return record.offset < offset; });
    size_t bytes = 0;
    for (size_t n = 0; at != p->records.end() && n < max_records; ++at, ++n) {
      bytes += at->key.size() + at->value.size();
      if (n > 0 && bytes > max_bytes) break;
      out->push_back(*at);
      position_ = at->offset + 1;
    }
    return OkStatus();
  }

  const std::shared_ptr<MemoryLog::State> state_;
  const TopicPartition at_;
  int64_t position_;
  std::atomic<bool> interrupted_{false};
  const std::unique_ptr<Wakeup> wakeup_;
};

class MemoryAppender final : public Appender {
 public:
  explicit MemoryAppender(std::shared_ptr<MemoryLog::State> state) : state_(std::move(state)) {}
  Status Append(std::vector<OutgoingRecord> records) override {
    MutexLock lock(&state_->mutex);
    RETURN_IF_ERROR(state_->CheckFault("append"));
    return state_->Write(std::move(records));
  }

 private:
  const std::shared_ptr<MemoryLog::State> state_;
};

class MemoryCommitter final : public Committer {
 public:
  MemoryCommitter(std::shared_ptr<MemoryLog::State> state, std::string id, uint64_t epoch)
      : state_(std::move(state)), id_(std::move(id)), epoch_(epoch) {}
  Status Apply(const Commit& commit) override {
    MutexLock lock(&state_->mutex);
    if (state_->epochs[id_] != epoch_) return Aborted(Cat(id_, " was fenced by a newer committer"));
    RETURN_IF_ERROR(state_->CheckFault("commit"));
    if (commit.metadata.size() > 4096) return InvalidArgument("metadata longer than 4 KiB");
    RETURN_IF_ERROR(state_->Write(commit.outputs));
    if (commit.next_offset >= 0) {
      state_->positions[{commit.group, commit.input}] = {commit.next_offset, commit.metadata};
    }
    return OkStatus();
  }

 private:
  const std::shared_ptr<MemoryLog::State> state_;
  const std::string id_;
  const uint64_t epoch_;
};

}  // namespace

MemoryLog::MemoryLog(Clock* clock) : state_(std::make_shared<State>(clock)) {}

Status MemoryLog::EnsureTopic(std::string_view topic, const TopicConfig& config) {
  MutexLock lock(&state_->mutex);
  const auto [at, inserted] = state_->topics.try_emplace(std::string(topic));
  if (!inserted && at->second.config.partitions != config.partitions) {
    return FailedPrecondition(Cat("topic ", topic, " has ", at->second.config.partitions,
                                  " partitions, expected ", config.partitions));
  }
  at->second.config = config;
  at->second.partitions.resize(static_cast<size_t>(config.partitions));
  return OkStatus();
}

StatusOr<int32_t> MemoryLog::Partitions(std::string_view topic) {
  MutexLock lock(&state_->mutex);
  const auto at = state_->topics.find(topic);
  if (at == state_->topics.end()) return NotFound(Cat("topic ", topic, " does not exist"));
  return at->second.config.partitions;
}

StatusOr<std::unique_ptr<PartitionReader>> MemoryLog::OpenReader(const TopicPartition& at,
                                                                 int64_t from) {
  {
    MutexLock lock(&state_->mutex);
    RETURN_IF_ERROR(state_->Find(at).status());
  }
  auto reader = std::make_unique<MemoryReader>(state_, at, 0);
  RETURN_IF_ERROR(reader->Seek(from));
  return reader;
}

StatusOr<std::unique_ptr<Appender>> MemoryLog::OpenAppender() {
  return std::make_unique<MemoryAppender>(state_);
}

StatusOr<std::unique_ptr<Committer>> MemoryLog::OpenCommitter(std::string_view transactional_id) {
  MutexLock lock(&state_->mutex);
  std::string id(transactional_id);
  const uint64_t epoch = ++state_->epochs[id];
  return std::make_unique<MemoryCommitter>(state_, std::move(id), epoch);
}

StatusOr<std::optional<CommittedOffset>> MemoryLog::Committed(std::string_view group,
                                                              const TopicPartition& at) {
  MutexLock lock(&state_->mutex);
  const auto found = state_->positions.find({std::string(group), at});
  if (found == state_->positions.end()) return std::optional<CommittedOffset>();
  return std::optional<CommittedOffset>(found->second);
}

Status MemoryLog::StorePosition(std::string_view group, const TopicPartition& at,
                                const CommittedOffset& to) {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(state_->CheckFault("store_position"));
  if (to.metadata.size() > 4096) return InvalidArgument("metadata longer than 4 KiB");
  state_->positions[{std::string(group), at}] = to;
  return OkStatus();
}

std::vector<Record> MemoryLog::Records(std::string_view topic, int32_t partition) const {
  MutexLock lock(&state_->mutex);
  const StatusOr<Partition*> p = state_->Find({std::string(topic), partition});
  return p.ok() ? (*p)->records : std::vector<Record>();
}

void MemoryLog::Drop(std::string_view topic, int32_t partition, int64_t offset) {
  MutexLock lock(&state_->mutex);
  const StatusOr<Partition*> p = state_->Find({std::string(topic), partition});
  if (!p.ok()) return;
  std::erase_if((*p)->records, [offset](const Record& r) { return r.offset < offset; });
  (*p)->start = std::max((*p)->start, offset);
}

void MemoryLog::Recreate(std::string_view topic) {
  MutexLock lock(&state_->mutex);
  const auto at = state_->topics.find(topic);
  if (at == state_->topics.end()) return;
  for (Partition& partition : at->second.partitions) partition = Partition();
}

void MemoryLog::Cut(std::string_view topic, int32_t partition, int64_t offset) {
  MutexLock lock(&state_->mutex);
  const StatusOr<Partition*> p = state_->Find({std::string(topic), partition});
  if (!p.ok()) return;
  std::erase_if((*p)->records, [offset](const Record& r) { return r.offset >= offset; });
  (*p)->end = std::max((*p)->start, std::min((*p)->end, offset));
}

void MemoryLog::SkipOffsets(std::string_view topic, int32_t partition, int64_t count) {
  MutexLock lock(&state_->mutex);
  const StatusOr<Partition*> p = state_->Find({std::string(topic), partition});
  if (p.ok()) (*p)->end += count;
}

void MemoryLog::SetWriteFault(WriteFault fault) {
  MutexLock lock(&state_->mutex);
  state_->fault = std::move(fault);
}

void MemoryLog::SetLargest(size_t bytes) {
  MutexLock lock(&state_->mutex);
  state_->largest = bytes;
}

void MemoryLog::FailPolls(int count, Status status) {
  MutexLock lock(&state_->mutex);
  state_->failing_polls = count;
  state_->poll_status = std::move(status);
}

}  // namespace pitwall::fakes
