#include "services/adapters/embedded_log/recovery.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/embedded_log/segment_recovery.h"
#include "services/adapters/files/file.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr int64_t kVerifyBytes = int64_t{64} << 20;  // limit for reading unflushed records
constexpr int kAttempts = 10;
constexpr size_t kMaxMarkBytes = 4096;

std::string CommitsDir(const EmbeddedLogOptions& options) { return Cat(options.dir, "/commits"); }

// Single pass over the directory. Problems are reported to `damage`.
class Recovery {
 public:
  Recovery(const EmbeddedLogOptions& options, DamageLog* damage)
      : options_(options), damage_(damage) {}

  StatusOr<Recovered> Run() {
    RETURN_IF_ERROR(LoadMark());
    ASSIGN_OR_RETURN(const LoadedJournal journal, LoadJournal(CommitsDir(options_)));
    out_.journal.older = journal.older;
    out_.journal.path = journal.path;
    ASSIGN_OR_RETURN(std::vector<TopicFolder> folders, LoadTopics(options_.dir));
    if (journal.number == 0) {
      RETURN_IF_ERROR(CheckNothingCommitted(folders));
    } else {
      RETURN_IF_ERROR(ReadFrames(journal));
    }
    for (const ScannedFrame& scanned : frames_) LearnTopics(scanned.frame);
    RETURN_IF_ERROR(TakeTopics(std::move(folders)));
    if (journal.number > 0) RETURN_IF_ERROR(CutUnflushed(journal.path));
    for (const ScannedFrame& scanned : frames_) Apply(scanned.frame);
    for (const Frame& frame : facts_behind_) ApplyFacts(frame);
    RETURN_IF_ERROR(RecoverPartitions());
    RETURN_IF_ERROR(VerifySegments());
    for (auto& [key, at] : positions_) {
      out_.positions.push_back({key.first, key.second, std::move(at)});
    }
    for (auto& [id, epoch] : epochs_) out_.epochs.push_back({id, epoch});
    out_.unflushed.assign(unflushed_.begin(), unflushed_.end());
    out_.unflushed_dirs.assign(unflushed_dirs_.begin(), unflushed_dirs_.end());
    return std::move(out_);
  }

 private:
  using GroupKey = std::pair<std::string, PartitionKey>;

  void Report(DamageKind kind, std::string place, std::string message, std::string path,
              bool healed = false, std::string topic = "") {
    damage_->Report({.kind = kind,
                     .place = std::move(place),
                     .message = std::move(message),
                     .topic = std::move(topic),
                     .healed = healed,
                     .path = std::move(path)});
  }

  Status LoadMark() {
    const std::string path = Cat(CommitsDir(options_), "/", kSyncedMarkName);
    auto bytes = files::ReadWhole(path, kMaxMarkBytes);
    if (bytes.status().code() == absl::StatusCode::kNotFound) return OkStatus();
    if (bytes.status().code() == absl::StatusCode::kResourceExhausted) bytes = std::string();
    RETURN_IF_ERROR(bytes.status());
    mark_there_ = true;
    auto mark = DecodeMark(*bytes);
    if (mark.ok()) {
      mark_ = *mark;
    } else {
      Report(DamageKind::kSyncedMark, path,
             Cat("damaged (", ToStd(mark.status().message()),
                 "); it is rewritten from the journal, which holds the same data"),
             path, /*healed=*/true);
    }
    return OkStatus();
  }

  // Checks that a log without a journal does not contain any records. If it does, the journal was
  // removed.
  Status CheckNothingCommitted(const std::vector<TopicFolder>& folders) {
    const std::string dir = CommitsDir(options_);
    if (options_.read_only && folders.empty() && !mark_there_) {
      return NotFound(Cat(dir, ": not a data directory (no commit journal found)"));
    }
    std::string where = mark_there_ ? Cat(dir, "/", kSyncedMarkName) : "";
    for (const TopicFolder& folder : folders) {
      ASSIGN_OR_RETURN(const std::vector<std::string> names,
                       files::ListDirectory(folder.topic.dir));
      for (const std::string& name : names) {
        if (!ParseInt(name).has_value() || !where.empty()) continue;
        ASSIGN_OR_RETURN(const PartitionFiles files,
                         ListPartition(Cat(folder.topic.dir, "/", name), nullptr));
        if (!files.segments.empty()) where = files.dir;
      }
    }
    if (where.empty()) {
      if (!options_.read_only) return OkStatus();
      return NotFound(Cat(dir, ": not a data directory (no commit journal found)"));
    }
    Report(DamageKind::kJournalMissing, dir,
           Cat("the commit journal is missing, although ", where, " shows that it existed"), dir);
    out_.journal.damaged = true;
    extend_to_ = UINT64_MAX;
    out_.journal.rewrite = true;
    return OkStatus();
  }

  Status ReadFrames(const LoadedJournal& journal) {
    JournalScan scan = ScanJournal(journal.content);
    out_.journal.number = journal.number;
    out_.journal.bytes = static_cast<int64_t>(journal.content.size());
    const auto checkpoint_end =
        std::find_if(scan.frames.begin(), scan.frames.end(), [](const ScannedFrame& scanned) {
          return scanned.frame.kind == FrameKind::kCheckpointEnd;
        });
    const size_t checkpoint_frames = static_cast<size_t>(checkpoint_end - scan.frames.begin());
    const bool whole_checkpoint = checkpoint_frames < scan.first_behind;
    if (checkpoint_end != scan.frames.end()) out_.journal.checkpoint_bytes = checkpoint_end->to;
    const bool clean = scan.damage_from < 0 && whole_checkpoint;
    if (scan.format > 2 && !clean) {
      return FailedPrecondition(
          Cat(journal.path, ": commit journal has format ", scan.format,
              " (this version of Pitwall reads 1 and 2); use the version that wrote it"));
    }
    complete_ = scan.format == 2;
    if (scan.format == 1)
      out_.journal.rewrite = true;  // the rewritten journal will list its segments
    if (clean && (scan.format == 0 || scan.format > 2)) {
      Report(DamageKind::kJournal, journal.path,
             "the header is damaged, but all frames are intact; it is rewritten", journal.path,
             /*healed=*/true);
      out_.journal.rewrite = true;
      for (const ScannedFrame& scanned : scan.frames) {
        complete_ = complete_ || !scanned.frame.topics.empty();
      }
    }
    uint64_t newest = 0;
    for (const ScannedFrame& scanned : scan.frames) {
      newest = std::max(newest, scanned.frame.sequence);
    }
    if (!clean) {
      const int64_t at = std::max<int64_t>(scan.damage_from, 0);
      const std::string reason = scan.damage_reason.empty() ? "no checkpoint" : scan.damage_reason;
      uint64_t last_good = 0;
      for (size_t i = 0; i < scan.first_behind; ++i) last_good = scan.frames[i].frame.sequence;
      // Later frames or the mark may prove that the damaged frames were on disk. A crash cannot
      // destroy frames that were on disk.
      bool proven = !whole_checkpoint || mark_.sequence > last_good || !scan.looks_torn;
      for (size_t i = scan.first_behind; i < scan.frames.size(); ++i) {
        proven = proven || scan.frames[i].frame.synced_sequence > last_good;
      }
      const size_t behind = scan.frames.size() - scan.first_behind;
      const std::string place = Cat(journal.path, " at byte ", at);
      if (proven) {
        Report(DamageKind::kJournal, place,
               Cat(reason, ", in the commit journal (", behind,
                   " readable frames follow); group positions and partition ends may be "
                   "outdated"),
               journal.path);
        Salvage(newest);
      } else {
        PITWALL_LOG(kInfo, "log", place, ": ", reason,
                    ": truncated here after an unclean shutdown");
        if (behind > 0) {
          Report(DamageKind::kUnflushed, place,
                 Cat(reason, ": ", behind, " later commits were never flushed and are dropped"),
                 journal.path, /*healed=*/true);
        }
        DropFrom(scan.first_behind, at, &scan.frames);
        out_.journal.flush = true;
      }
    } else if (mark_.sequence > newest) {
      Report(DamageKind::kJournalCut, journal.path,
             Cat("the commit journal ends at commit ", newest, ", but commit ", mark_.sequence,
                 " was flushed; it was truncated or is an older copy"),
             journal.path);
      Salvage(newest);
    }
    frames_ = std::move(scan.frames);
    return OkStatus();
  }

  // Prepares to recover from segments. The journal is incomplete, so the records of known commits
  // are read from the segments.
  void Salvage(uint64_t newest) {
    out_.journal.damaged = true;
    out_.journal.rewrite = true;
    complete_ = false;
    extend_to_ = std::max(newest, mark_.sequence);
  }

  // Frames other than commits were flushed when they were written, so the facts in them stay valid.
  void DropFrom(size_t first, int64_t at, std::vector<ScannedFrame>* frames) {
    for (size_t i = first; i < frames->size(); ++i) {
      const Frame& frame = (*frames)[i].frame;
      if (frame.kind != FrameKind::kSynced) continue;
      facts_behind_.push_back(frame);
      out_.journal.rewrite = true;
    }
    frames->resize(first);
    out_.journal.bytes = at;
  }

  void LearnTopics(const Frame& frame) {
    for (const TopicFact& topic : frame.topics) topic_facts_[topic.number] = topic;
    for (const PartitionEnd& end : frame.ends) used_topics_.insert(end.key.topic);
  }

  Status TakeTopics(std::vector<TopicFolder> folders) {
    std::set<uint32_t> there;
    for (TopicFolder& folder : folders) {
      if (!folder.parsed.ok()) {
        const auto fact =
            std::find_if(topic_facts_.begin(), topic_facts_.end(),
                         [&](const auto& f) { return f.second.name == folder.topic.name; });
        const std::string message(ToStd(folder.parsed.message()));
        const std::string path = Cat(folder.topic.dir, "/topic.conf");
        if (fact == topic_facts_.end()) {
          Report(DamageKind::kTopicFile, path, message, path, false, folder.topic.name);
          continue;
        }
        Report(DamageKind::kTopicFile, path,
               Cat(message, "; it is rewritten from the commit journal"), path, true,
               folder.topic.name);
        folder.topic.number = fact->second.number;
        folder.topic.config = fact->second.config;
        out_.topics_to_write.push_back(folder.topic.name);
      }
      there.insert(folder.topic.number);
      out_.topics.push_back(std::move(folder.topic));
    }
    for (const auto& [number, fact] : topic_facts_) {
      if (there.contains(number)) continue;
      Topic topic;
      topic.name = fact.name;
      topic.number = number;
      topic.config = fact.config;
      topic.dir = Cat(options_.dir, "/topics/", fact.name);
      const bool used = used_topics_.contains(number);
      Report(DamageKind::kTopicMissing, topic.dir,
             used ? "the topic's directory is missing"
                  : "the topic's directory is missing; it had no records and is recreated",
             topic.dir, !used, topic.name);
      out_.topics_to_write.push_back(topic.name);
      out_.topics.push_back(std::move(topic));
    }
    std::sort(out_.topics.begin(), out_.topics.end(),
              [](const Topic& a, const Topic& b) { return a.name < b.name; });
    return OkStatus();
  }

  const Topic* FindTopic(uint32_t number) const {
    for (const Topic& topic : out_.topics) {
      if (topic.number == number) return &topic;
    }
    return nullptr;  // older format whose topic directory was removed manually
  }

  // Returns all segment files of the partition, valid or not.
  StatusOr<const PartitionFiles*> Listed(const PartitionKey& key) {
    const auto found = listed_.find(key);
    if (found != listed_.end()) return &found->second;
    const Topic* const topic = FindTopic(key.topic);
    if (topic == nullptr) return nullptr;
    ASSIGN_OR_RETURN(PartitionFiles files,
                     ListPartition(topic->PartitionDir(key.partition), nullptr));
    return &listed_.emplace(key, std::move(files)).first->second;
  }

  // Drops the first frame whose records did not reach the disk, and all later frames.
  Status CutUnflushed(const std::string& path) {
    uint64_t synced = mark_.sequence;
    int64_t bytes_left = 0;
    for (const ScannedFrame& scanned : frames_) {
      synced = std::max(synced, scanned.frame.synced_sequence);
    }
    size_t first = frames_.size();
    while (first > 0 && frames_[first - 1].frame.sequence > synced) --first;
    // Only commits require a flush. The mark that a clean shutdown leaves at the end does not.
    for (size_t i = first; i < frames_.size(); ++i) {
      if (frames_[i].frame.kind == FrameKind::kCommit) out_.journal.flush = true;
    }
    for (size_t i = first; i < frames_.size(); ++i) {
      for (const PartitionEnd& end : frames_[i].frame.ends) {
        bytes_left += end.to_bytes - end.from_bytes;
      }
    }
    for (size_t i = first; i < frames_.size(); ++i) {
      for (const PartitionEnd& end : frames_[i].frame.ends) {
        ASSIGN_OR_RETURN(const PartitionFiles* const files, Listed(end.key));
        if (files == nullptr) continue;
        bool torn = false;
        const Status verified = VerifyCommit(*files, end, bytes_left <= kVerifyBytes, &torn);
        bytes_left -= end.to_bytes - end.from_bytes;
        // Damage that a power loss cannot cause is reported when the segments are read.
        if (verified.ok() || !torn) {
          unflushed_.insert(Cat(files->dir, "/", SegmentName{end.segment_base}.FileName()));
          unflushed_dirs_.insert(files->dir);
          continue;
        }
        Report(DamageKind::kUnflushed, Cat(path, " at byte ", frames_[i].from),
               Cat(ToStd(verified.message()), ": this commit and ", frames_.size() - i - 1,
                   " later ones did not reach the disk and are dropped"),
               path, /*healed=*/true);
        DropFrom(i, frames_[i].from, &frames_);
        return OkStatus();
      }
    }
    return OkStatus();
  }

  PartitionFacts& FactsOf(const PartitionKey& key) { return out_.facts[key]; }

  void ApplyFacts(const Frame& frame) {
    out_.sequence = std::max(out_.sequence, frame.sequence);
    for (const SegmentFact& segment : frame.segments) {
      auto& segments = FactsOf(segment.key).segments;
      for (auto it = segments.lower_bound(segment.base);
           it != segments.end() && it->first < std::max(segment.end, segment.base + 1);) {
        it = segments.erase(it);
      }
      segments.emplace(segment.base, segment);
    }
    for (const PartitionStart& start : frame.starts) {
      PartitionFacts& facts = FactsOf(start.key);
      facts.start = std::max(facts.start, start.offset);
      std::erase_if(facts.segments, [&](const auto& s) { return s.second.end <= facts.start; });
      std::erase_if(facts.lost, [&](const Lost& l) { return l.to <= facts.start; });
    }
    for (const LostRange& range : frame.lost) {
      std::vector<Lost>& lost = FactsOf(range.key).lost;
      lost.push_back({range.from, range.to, range.noted_ns});
      std::sort(lost.begin(), lost.end(),
                [](const Lost& a, const Lost& b) { return a.from < b.from; });
    }
    for (const LostRange& range : frame.forgotten) {
      std::erase_if(FactsOf(range.key).lost, [&](const Lost& lost) {
        return lost.from == range.from && lost.to == range.to && lost.noted_ns == range.noted_ns;
      });
    }
  }

  void Apply(const Frame& frame) {
    for (const PartitionEnd& end : frame.ends) {
      FactsOf(end.key).end = end;
      out_.max_topic = std::max(out_.max_topic, end.key.topic);
    }
    ApplyFacts(frame);
    for (const GroupPosition& position : frame.positions) {
      positions_[{position.group, position.key}] = position.at;
      out_.position_commits[{position.group, position.key}] = frame.sequence;
      out_.max_topic = std::max(out_.max_topic, position.key.topic);
    }
    for (const CommitterEpoch& epoch : frame.epochs) epochs_[epoch.id] = epoch.epoch;
  }

  Status RecoverPartitions() {
    for (const Topic& topic : out_.topics) {
      out_.max_topic = std::max(out_.max_topic, topic.number);
      for (int32_t p = 0; p < topic.config.partitions; ++p) {
        const PartitionKey key{topic.number, p};
        PartitionFacts& facts = FactsOf(key);
        facts.topic = topic.name;
        facts.partition = p;
        facts.complete = complete_;
        ASSIGN_OR_RETURN(PartitionFiles files, ListPartition(topic.PartitionDir(p), &facts));
        if (extend_to_ > 0) {
          PartitionEnd extended = facts.end.value_or(PartitionEnd{});
          if (!facts.end.has_value() && !files.segments.empty()) {
            extended.to_offset = files.segments.front().base_offset;
            extended.segment_base = extended.to_offset;
          }
          RETURN_IF_ERROR(ExtendBySequence(files, extend_to_, &extended, &out_.sequence));
          if (extended.to_offset > 0) facts.end = extended;
        }
        ASSIGN_OR_RETURN(out_.partitions[key], RecoverPartition(files, facts, damage_));
        out_.files[key] = std::move(files);
      }
    }
    if (extend_to_ > 0) {
      out_.sequence = std::max(out_.sequence, mark_.sequence);
      if (extend_to_ != UINT64_MAX) out_.sequence = std::max(out_.sequence, extend_to_);
    }
    return OkStatus();
  }

  // Verifies segments up to the byte limit, starting with the newest of each partition.
  Status VerifySegments() {
    struct Candidate {
      PartitionKey key;
      size_t index;
      int64_t from_end;  // bytes of the partition after this segment
    };
    std::vector<Candidate> candidates;
    for (const auto& [key, content] : out_.partitions) {
      int64_t behind = 0;
      for (size_t i = content.segments.size(); i-- > 0;) {
        candidates.push_back({key, i, behind});
        behind += content.segments[i].bytes;
      }
    }
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.from_end < b.from_end; });
    int64_t left = options_.verify_bytes < 0 ? INT64_MAX : options_.verify_bytes;
    for (const Candidate& candidate : candidates) {
      const PartitionContent& content = out_.partitions[candidate.key];
      left -= content.segments[candidate.index].bytes;
      if (left < 0) {
        out_.unverified.push_back({candidate.key, candidate.index});
        continue;
      }
      const Status verified =
          VerifySegment(out_.facts[candidate.key], out_.files[candidate.key].dir, content,
                        candidate.index, damage_);
      // In a read-only log, the writer's retention may have deleted the segment. The next attempt
      // detects this.
      if (verified.code() == absl::StatusCode::kNotFound) continue;
      RETURN_IF_ERROR(verified);
    }
    return OkStatus();
  }

  const EmbeddedLogOptions& options_;
  DamageLog* const damage_;
  Recovered out_;
  SyncedMark mark_;
  bool mark_there_ = false;
  bool complete_ = false;  // the journal lists all segments
  std::vector<ScannedFrame> frames_;
  std::vector<Frame> facts_behind_;  // facts from dropped frames
  uint64_t extend_to_ = 0;           // salvage: records of commits up to this sequence are valid
  std::map<uint32_t, TopicFact> topic_facts_;
  std::set<uint32_t> used_topics_;
  std::map<PartitionKey, PartitionFiles> listed_;
  std::map<GroupKey, CommittedOffset> positions_;
  std::map<std::string, uint64_t> epochs_;
  std::set<std::string> unflushed_;
  std::set<std::string> unflushed_dirs_;
};

Status Refusal(const EmbeddedLogOptions& options, const std::vector<DamageReport>& reports) {
  const DamageReport* first = nullptr;
  size_t others = 0;
  for (const DamageReport& report : reports) {
    if (report.healed) continue;
    if (first == nullptr) {
      first = &report;
    } else {
      ++others;
    }
  }
  if (first == nullptr) return OkStatus();
  return DataLoss(Cat(first->place, ": ", first->message,
                      others > 0 ? Cat(" (and ", others, " more)") : std::string(),
                      "; run `pitwall log check ", options.dir,
                      "` to list all damage, or `pitwall log repair ", options.dir,
                      "` to make the log usable again and record the lost offsets"));
}

}  // namespace

StatusOr<Recovered> Recover(const EmbeddedLogOptions& options, DamageLog* damage) {
  for (int attempt = 1;; ++attempt) {
    DamageLog found(/*silent=*/true);
    auto recovered = Recovery(options, &found).Run();
    const Status refusal = Refusal(options, found.reports());
    // In a read-only log, files that the writer removed after the journal was read are not damage.
    const bool again = options.read_only && (!refusal.ok() || !recovered.ok()) &&
                       recovered.status().code() != absl::StatusCode::kNotFound;
    if (again && attempt < kAttempts) continue;
    for (DamageReport& report : found.reports()) damage->Report(std::move(report));
    RETURN_IF_ERROR(recovered.status());
    if (!options.salvage) RETURN_IF_ERROR(refusal);
    return recovered;
  }
}

}  // namespace pitwall::log
