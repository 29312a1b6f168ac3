#include "services/adapters/log/recovery.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "services/adapters/log/commit_journal.h"
#include "services/adapters/log/file.h"
#include "services/adapters/log/segment_recovery.h"
#include "services/base/log.h"
#include "services/base/strings.h"

namespace pitwall::log {
namespace {

constexpr size_t kMaxJournalBytes = size_t{1} << 30;
constexpr int64_t kVerifyBytes = int64_t{64} << 20;  // records read again at open, at most
constexpr int kListAttempts = 10;

struct LoadedJournal {
  uint64_t number = 0;
  std::string path;
  std::string content;
  std::vector<std::string> older;  // paths that a checkpoint left
};

StatusOr<LoadedJournal> LoadJournal(const std::string& dir) {
  for (int attempt = 1;; ++attempt) {
    LoadedJournal journal;
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
    for (const std::string& name : names) {
      const std::string path = Cat(dir, "/", name);
      if (EndsWith(name, ".tmp")) journal.older.push_back(path);
      const uint64_t number = ParseJournalFileName(name);
      if (number == 0) continue;
      if (journal.number > 0) journal.older.push_back(journal.path);
      journal.number = number;  // names sort as numbers do
      journal.path = path;
    }
    if (journal.number == 0) return journal;
    auto content = ReadWhole(journal.path, kMaxJournalBytes);
    // Read-only beside a writer: its checkpoint may have replaced the file in this moment.
    if (content.status().code() == absl::StatusCode::kNotFound && attempt < kListAttempts) continue;
    RETURN_IF_ERROR(content.status());
    journal.content = *std::move(content);
    return journal;
  }
}

class Recovery {
 public:
  Recovery(const EmbeddedLogOptions& options, DamageLog* damage)
      : options_(options), damage_(damage) {}

  StatusOr<Recovered> Run() {
    ASSIGN_OR_RETURN(out_.topics, LoadTopics(options_.dir));
    ASSIGN_OR_RETURN(LoadedJournal journal, LoadJournal(Cat(options_.dir, "/commits")));
    if (journal.number == 0) {
      RETURN_IF_ERROR(CheckNothingCommitted());
    } else {
      RETURN_IF_ERROR(ReadFrames(journal));
      RETURN_IF_ERROR(CutUnflushed(journal.path));
    }
    for (const ScannedFrame& scanned : frames_) Apply(scanned.frame);
    RETURN_IF_ERROR(RecoverPartitions());
    for (auto& [key, at] : positions_) {
      out_.positions.push_back({key.first, key.second, std::move(at)});
    }
    for (auto& [id, epoch] : epochs_) out_.epochs.push_back({id, epoch});
    if (!options_.read_only) {
      for (const std::string& path : journal.older) RETURN_IF_ERROR(Remove(path));
      RETURN_IF_ERROR(FlushUnflushed());
    }
    return std::move(out_);
  }

 private:
  using GroupKey = std::pair<std::string, PartitionKey>;

  // No journal, but records: somebody took it away.
  Status CheckNothingCommitted() {
    if (options_.read_only) {
      return NotFound(Cat(options_.dir, "/commits: no commit journal: not a data directory"));
    }
    for (const Topic& topic : out_.topics) {
      for (int32_t p = 0; p < topic.config.partitions; ++p) {
        ASSIGN_OR_RETURN(const PartitionFiles files, ListPartition(topic.PartitionDir(p)));
        if (files.segments.empty()) continue;
        const std::string message =
            Cat(options_.dir, "/commits: no commit journal, but there are records in ", files.dir);
        if (!options_.salvage) return DataLoss(message);
        damage_->Report(Cat(options_.dir, "/commits"), message);
        extend_to_ = UINT64_MAX;
        out_.rewrite_journal = true;
        return OkStatus();
      }
    }
    return OkStatus();
  }

  Status ReadFrames(const LoadedJournal& journal) {
    JournalScan scan = ScanJournal(journal.content);
    out_.journal_number = journal.number;
    out_.journal_bytes = static_cast<int64_t>(journal.content.size());
    const auto checkpoint_end =
        std::find_if(scan.frames.begin(), scan.frames.end(), [](const ScannedFrame& scanned) {
          return scanned.frame.kind == FrameKind::kCheckpointEnd;
        });
    const size_t checkpoint_frames = static_cast<size_t>(checkpoint_end - scan.frames.begin());
    const bool whole_checkpoint = checkpoint_frames < scan.first_behind;
    if (checkpoint_end != scan.frames.end()) out_.checkpoint_bytes = checkpoint_end->to;

    if (scan.damage_from >= 0 || !whole_checkpoint) {
      const int64_t at = std::max<int64_t>(scan.damage_from, 0);
      const std::string reason =
          scan.damage_reason.empty() ? "it has no checkpoint" : scan.damage_reason;
      uint64_t last_good = 0;
      for (size_t i = 0; i < scan.first_behind; ++i) last_good = scan.frames[i].frame.sequence;
      // Frames behind the damage that were written when what is damaged was already flushed: no
      // crash does that.
      bool proven = !whole_checkpoint;
      for (size_t i = scan.first_behind; i < scan.frames.size(); ++i) {
        proven = proven || scan.frames[i].frame.synced_sequence > last_good;
      }
      const size_t behind = scan.frames.size() - scan.first_behind;
      const std::string place = Cat(journal.path, " at byte ", at);
      if (!proven) {
        PITWALL_LOG(kInfo, "log", place, ": ", reason, ": cut here, what an unclean stop left");
        if (behind > 0) {
          damage_->Report(place, Cat(reason, ": ", behind,
                                     " commits behind it were never flushed and are dropped"));
        }
        scan.frames.resize(scan.first_behind);
        out_.journal_bytes = at;
        out_.flush_journal = true;
      } else if (!options_.salvage) {
        return DataLoss(Cat(place, ": ", reason, ", in the middle of the commit journal (", behind,
                            " readable frames follow); opening it with `salvage` goes on without "
                            "what is lost"));
      } else {
        damage_->Report(place, Cat(reason,
                                   ": salvaged without it; positions of groups and ends of "
                                   "partitions may be older than they were"));
        out_.rewrite_journal = true;
        extend_to_ = scan.frames.empty() ? 0 : scan.frames.back().frame.sequence;
      }
    }
    frames_ = std::move(scan.frames);
    return OkStatus();
  }

  const Topic* FindTopic(uint32_t number) const {
    for (const Topic& topic : out_.topics) {
      if (topic.number == number) return &topic;
    }
    return nullptr;  // its folder was taken away by hand
  }

  StatusOr<const PartitionFiles*> Files(const PartitionKey& key) {
    const auto found = files_.find(key);
    if (found != files_.end()) return &found->second;
    const Topic* const topic = FindTopic(key.topic);
    if (topic == nullptr) return nullptr;
    ASSIGN_OR_RETURN(PartitionFiles files, ListPartition(topic->PartitionDir(key.partition)));
    return &files_.emplace(key, std::move(files)).first->second;
  }

  // Drops the frames from the first on that covers records which did not reach the disk.
  Status CutUnflushed(const std::string& path) {
    uint64_t synced = 0;
    int64_t bytes_left = 0;
    for (const ScannedFrame& scanned : frames_) {
      synced = std::max(synced, scanned.frame.synced_sequence);
    }
    size_t first = frames_.size();
    while (first > 0 && frames_[first - 1].frame.sequence > synced) --first;
    // A mark at the end, which is nothing to flush, is what a clean stop leaves.
    for (size_t i = first; i < frames_.size(); ++i) {
      if (frames_[i].frame.kind == FrameKind::kCommit) out_.flush_journal = true;
    }
    for (size_t i = first; i < frames_.size(); ++i) {
      for (const PartitionEnd& end : frames_[i].frame.ends) {
        bytes_left += end.to_bytes - end.from_bytes;
      }
    }
    for (size_t i = first; i < frames_.size(); ++i) {
      for (const PartitionEnd& end : frames_[i].frame.ends) {
        ASSIGN_OR_RETURN(const PartitionFiles* const files, Files(end.key));
        if (files == nullptr) continue;
        const Status verified = VerifyCommit(*files, end, bytes_left <= kVerifyBytes);
        bytes_left -= end.to_bytes - end.from_bytes;
        if (verified.ok()) {
          unflushed_.insert(Cat(files->dir, "/", SegmentName{end.segment_base}.FileName()));
          unflushed_dirs_.insert(files->dir);
          continue;
        }
        damage_->Report(
            Cat(path, " at byte ", frames_[i].from),
            Cat(ToStd(verified.message()), ": this commit and ", frames_.size() - i - 1,
                " later ones did not reach the disk before the stop; they are dropped"));
        out_.journal_bytes = frames_[i].from;
        frames_.resize(i);
        return OkStatus();
      }
    }
    return OkStatus();
  }

  void Apply(const Frame& frame) {
    out_.sequence = std::max(out_.sequence, frame.sequence);
    for (const PartitionEnd& end : frame.ends) {
      ends_[end.key] = end;
      out_.max_topic = std::max(out_.max_topic, end.key.topic);
    }
    for (const GroupPosition& position : frame.positions) {
      positions_[{position.group, position.key}] = position.at;
      out_.max_topic = std::max(out_.max_topic, position.key.topic);
    }
    for (const CommitterEpoch& epoch : frame.epochs) epochs_[epoch.id] = epoch.epoch;
  }

  Status RecoverPartitions() {
    for (const Topic& topic : out_.topics) {
      out_.max_topic = std::max(out_.max_topic, topic.number);
      for (int32_t p = 0; p < topic.config.partitions; ++p) {
        const PartitionKey key{topic.number, p};
        ASSIGN_OR_RETURN(const PartitionFiles* const files, Files(key));
        std::optional<PartitionEnd> end;
        if (const auto found = ends_.find(key); found != ends_.end()) end = found->second;
        if (extend_to_ > 0) {
          PartitionEnd extended = end.value_or(PartitionEnd{});
          if (!end.has_value() && !files->segments.empty()) {
            extended.to_offset = files->segments.front().base_offset;
            extended.segment_base = extended.to_offset;
          }
          RETURN_IF_ERROR(ExtendBySequence(*files, extend_to_, &extended));
          if (extended.to_offset > 0) end = extended;
        }
        ASSIGN_OR_RETURN(out_.partitions[key],
                         RecoverPartition(*files, end, !options_.read_only, damage_));
      }
    }
    return OkStatus();
  }

  // The last life wrote these and did not flush them. This one will say "all up to here is
  // flushed", so it must be true.
  Status FlushUnflushed() {
    for (const std::string& path : unflushed_) {
      auto file = File::Open(path, File::Mode::kWrite);
      if (file.status().code() == absl::StatusCode::kNotFound) continue;  // compacted since
      RETURN_IF_ERROR(file.status());
      RETURN_IF_ERROR((*file)->Sync());
    }
    for (const std::string& dir : unflushed_dirs_) RETURN_IF_ERROR(SyncDirectory(dir));
    return OkStatus();
  }

  const EmbeddedLogOptions& options_;
  DamageLog* const damage_;
  Recovered out_;
  std::vector<ScannedFrame> frames_;
  uint64_t extend_to_ = 0;  // salvage: records of commits up to this sequence count
  std::map<PartitionKey, PartitionFiles> files_;
  std::map<PartitionKey, PartitionEnd> ends_;
  std::map<GroupKey, CommittedOffset> positions_;
  std::map<std::string, uint64_t> epochs_;
  std::set<std::string> unflushed_;
  std::set<std::string> unflushed_dirs_;
};

}  // namespace

StatusOr<Recovered> Recover(const EmbeddedLogOptions& options, DamageLog* damage) {
  return Recovery(options, damage).Run();
}

}  // namespace pitwall::log
