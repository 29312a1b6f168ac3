#include "services/adapters/embedded_log/repair/log_repair.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment_check.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/adapters/embedded_log/format/topic_catalog.h"
#include "services/adapters/embedded_log/recovery.h"
#include "services/adapters/embedded_log/repair/output_cut.h"
#include "services/adapters/files/file.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 30;

EmbeddedLogOptions CheckOptions(const std::string& dir) {
  EmbeddedLogOptions options;
  options.dir = dir;
  options.read_only = true;
  options.salvage = true;
  options.verify_bytes = -1;
  return options;
}

bool AllHealed(const std::vector<DamageReport>& reports) {
  return std::all_of(reports.begin(), reports.end(),
                     [](const DamageReport& report) { return report.healed; });
}

LogCheck Summarize(const Recovered& recovered, std::vector<DamageReport> reports) {
  LogCheck check;
  check.reports = std::move(reports);
  if (!recovered.journal.path.empty()) {
    ++check.files;
    check.bytes += recovered.journal.bytes;
  }
  for (const auto& [key, content] : recovered.partitions) {
    for (const SegmentInfo& info : content.segments) {
      ++check.files;
      check.bytes += info.bytes;
    }
  }
  return check;
}

// Adds [from, to) to the ranges and keeps them ordered and disjoint.
void AddLost(std::vector<Lost>* lost, int64_t from, int64_t to, int64_t now_ns) {
  for (const Lost& part : Uncovered(from, to, *lost)) lost->push_back({part.from, part.to, now_ns});
  std::sort(lost->begin(), lost->end(),
            [](const Lost& a, const Lost& b) { return a.from < b.from; });
}

// A single repair of a data directory.
class Repair {
 public:
  Repair(const std::string& dir, bool dry_run, Clock* clock, Recovered recovered, LogRepair* out)
      : dir_(dir),
        dry_run_(dry_run),
        now_ns_(clock->WallNs()),
        recovered_(std::move(recovered)),
        out_(out) {}

  Status Run(const std::vector<DerivedOutputs>& derived) {
    for (const DerivedOutputs& outputs : derived) RETURN_IF_ERROR(Cut(outputs));
    for (auto& [key, content] : recovered_.partitions) {
      RETURN_IF_ERROR(SetLeftoversAside(key, content));
      RETURN_IF_ERROR(NoteLost(key, &content));
      RETURN_IF_ERROR(RewriteSegments(key, &content));
      if (Compacted(key)) RETURN_IF_ERROR(FillGaps(key, &content));
    }
    for (const DamageReport& report : out_->before.reports) {
      if (report.kind == DamageKind::kTopicFile && !report.healed) {
        RETURN_IF_ERROR(SetTopicAside(report.topic));
      }
    }
    RETURN_IF_ERROR(WriteTopics());
    return WriteJournal();
  }

 private:
  void Done(std::string line) { out_->done.push_back(std::move(line)); }

  // Cuts derived outputs. This step runs first because the other steps depend on the cut
  // partitions.
  Status Cut(const DerivedOutputs& outputs) {
    ASSIGN_OR_RETURN(const OutputCut cut, CutOutputs(outputs, out_->before.reports, &recovered_));
    for (const std::string& line : cut.done) Done(line);
    for (const CutSegment& part : cut.segments) {
      const bool in_place = part.replaced == part.path;
      RETURN_IF_ERROR(SetAside(part.path, /*copy=*/in_place));
      cut_.insert({part.path, part.replaced});
      if (dry_run_ || part.replaced.empty()) continue;
      RETURN_IF_ERROR(files::ReplaceFile(part.replaced, part.content, nullptr));
    }
    return OkStatus();
  }

  Status SetAside(const std::string& path, bool copy) {
    const std::string name = path.substr(dir_.size() + 1);
    const std::string to = Cat(dir_, "/quarantine/", now_ns_, "/", name);
    out_->quarantine.push_back(to);
    if (dry_run_) return OkStatus();
    RETURN_IF_ERROR(files::MakeDirectories(to.substr(0, to.rfind('/'))));
    if (!copy) return files::Rename(path, to);
    ASSIGN_OR_RETURN(const std::string content, files::ReadWhole(path, kMaxFileBytes));
    return files::ReplaceFile(to, content, nullptr);
  }

  // If the journal is damaged, sets aside files that no known commit covers, because they might
  // still be needed.
  Status SetLeftoversAside(const PartitionKey& key, const PartitionContent& content) {
    if (!recovered_.journal.damaged) return OkStatus();
    const PartitionFiles& files = recovered_.files[key];
    std::vector<std::string> paths = files.leftovers;
    for (const SegmentName& name : files.segments) {
      if (name.base_offset >= content.end_offset) {
        std::string path = Cat(files.dir, "/", name.FileName());
        if (!cut_.contains(path)) paths.push_back(std::move(path));
      }
    }
    for (const std::string& path : paths) {
      Done(Cat(path, ": set aside because no known commit covers it"));
      RETURN_IF_ERROR(SetAside(path, /*copy=*/false));
    }
    return OkStatus();
  }

  Status NoteLost(const PartitionKey& key, PartitionContent* content) {
    const PartitionFacts& facts = recovered_.facts[key];
    for (const DamageReport& report : out_->before.reports) {
      if (report.healed || report.topic != facts.topic || report.partition != facts.partition ||
          report.from_offset < 0) {
        continue;
      }
      const int64_t to = std::min(report.to_offset, content->end_offset);
      if (to <= report.from_offset) continue;
      for (const Lost& part : Uncovered(report.from_offset, to, content->lost)) {
        Done(Cat(facts.topic, "/", facts.partition, ": offsets ", part.from, " to ", part.to - 1,
                 " are lost; readers will receive an error"));
      }
      AddLost(&content->lost, report.from_offset, to, now_ns_);
    }
    return OkStatus();
  }

  // Rewrites damaged files to contain only their readable batches.
  Status RewriteSegments(const PartitionKey& key, PartitionContent* content) {
    const std::string& dir = recovered_.files[key].dir;
    std::set<std::string> damaged;
    for (const DamageReport& report : out_->before.reports) {
      if (!report.path.empty() && EndsWith(report.path, ".seg")) damaged.insert(report.path);
    }
    for (size_t i = 0; i < content->segments.size(); ++i) {
      SegmentInfo& info = content->segments[i];
      const std::string& path = info.segment->path();
      if (!damaged.contains(path) || cut_.contains(path)) continue;
      ASSIGN_OR_RETURN(
          const std::string kept,
          ReadableBatches(path, info.segment->name(), info.bytes, EndOfSegment(*content, i)));
      Done(Cat(path, ": rewritten with its readable batches, ", kept.size(), " of ", info.bytes,
               " bytes"));
      RETURN_IF_ERROR(SetAside(path, /*copy=*/true));
      info.bytes = static_cast<int64_t>(kept.size());
      info.writable = false;
      if (!dry_run_) RETURN_IF_ERROR(files::ReplaceFile(path, kept, nullptr));
    }
    // Closes the last segment unless it contains the end of the partition. The next commit starts a
    // new segment.
    if (!content->segments.empty()) {
      const SegmentInfo& last = content->segments.back();
      const auto& end = recovered_.facts[key].end;
      if (last.segment->name().compacted() ||
          (end.has_value() && last.segment->name().base_offset != end->segment_base)) {
        content->segments.back().writable = false;
      }
    }
    if (dry_run_ || dir.empty()) return OkStatus();
    return files::Exists(dir) ? files::SyncDirectory(dir) : OkStatus();
  }

  bool Compacted(const PartitionKey& key) const {
    return std::any_of(recovered_.topics.begin(), recovered_.topics.end(), [&](const Topic& topic) {
      return topic.number == key.topic && topic.config.compacted;
    });
  }

  // Replaces missing files of a compacted topic with empty files. Once the lost ranges are
  // forgotten, later starts must not report the files as missing.
  Status FillGaps(const PartitionKey& key, PartitionContent* content) {
    const PartitionFacts& facts = recovered_.facts[key];
    const std::string& dir = recovered_.files[key].dir;
    std::vector<SegmentInfo> filled;
    int64_t next = content->start_offset;
    const auto fill = [&](int64_t to) -> Status {
      if (next >= to) return OkStatus();
      SegmentName name;
      name.base_offset = next;
      name.end_offset = to;
      name.run = 1;
      SegmentInfo info;
      info.segment = std::make_shared<Segment>(dir, name);
      const std::string header = SegmentHeader(next);
      info.bytes = static_cast<int64_t>(header.size());
      if (!dry_run_) {
        RETURN_IF_ERROR(files::MakeDirectories(dir));
        RETURN_IF_ERROR(files::ReplaceFile(info.segment->path(), header, nullptr));
      }
      filled.push_back(std::move(info));
      next = to;
      return OkStatus();
    };
    for (size_t i = 0; i < content->segments.size(); ++i) {
      const int64_t base = content->segments[i].segment->name().base_offset;
      RETURN_IF_ERROR(fill(base));
      const auto fact = facts.segments.find(base);
      next = facts.complete && fact != facts.segments.end() ? fact->second.end
                                                            : EndOfSegment(*content, i);
      filled.push_back(content->segments[i]);
    }
    RETURN_IF_ERROR(fill(content->end_offset));
    content->segments = std::move(filled);
    return OkStatus();
  }

  // The number of partitions and the topic number are unknown, so the whole directory is set aside.
  Status SetTopicAside(const std::string& topic) {
    const std::string path = Cat(dir_, "/topics/", topic);
    Done(Cat(path, ": set aside because the topic is unknown without topic.conf"));
    return SetAside(path, /*copy=*/false);
  }

  Status WriteTopics() {
    for (const Topic& topic : recovered_.topics) {
      const auto& names = recovered_.topics_to_write;
      if (std::find(names.begin(), names.end(), topic.name) == names.end()) continue;
      Done(Cat(topic.dir, "/topic.conf: written from the commit journal"));
      if (!dry_run_) RETURN_IF_ERROR(RewriteTopic(topic, nullptr));
    }
    return OkStatus();
  }

  Status WriteJournal() {
    if (recovered_.journal.damaged && !recovered_.journal.path.empty()) {
      RETURN_IF_ERROR(SetAside(recovered_.journal.path, /*copy=*/true));
    }
    Done(Cat(dir_, "/commits: a new commit journal is written from the remaining data"));
    if (dry_run_) return OkStatus();
    CommittedState state;
    for (const Topic& topic : recovered_.topics) {
      state.NoteTopic({topic.number, topic.name, topic.config});
      for (int32_t p = 0; p < topic.config.partitions; ++p) {
        const PartitionKey key{topic.number, p};
        state.Add(key, Cat(topic.name, "/", p), topic.PartitionDir(p),
                  std::move(recovered_.partitions[key]));
      }
    }
    CommittedState::Publication publication;
    publication.positions = recovered_.positions;
    publication.epochs = recovered_.epochs;
    state.Publish(publication);
    RETURN_IF_ERROR(files::MakeDirectories(Cat(dir_, "/topics")));
    const std::string commits = Cat(dir_, "/commits");
    RETURN_IF_ERROR(files::MakeDirectories(commits));
    // The new journal gets a higher number than any existing one.
    const std::unique_ptr<CommitJournal> journal =
        CommitJournal::ForRepair(commits, recovered_.journal.number);
    RETURN_IF_ERROR(journal->OpenFolder());
    RETURN_IF_ERROR(journal->Checkpoint(state.Snapshot(recovered_.sequence + 1)));
    for (const std::string& path : recovered_.journal.older) RETURN_IF_ERROR(files::Remove(path));
    return OkStatus();
  }

  const std::string dir_;
  const bool dry_run_;
  const int64_t now_ns_;
  Recovered recovered_;
  std::set<std::string> cut_;  // paths of files that the cut removed or rewrote
  LogRepair* const out_;
};

}  // namespace

bool LogCheck::startable() const { return AllHealed(reports); }

StatusOr<LogCheck> CheckLog(const std::string& dir) {
  DamageLog damage(/*silent=*/true);
  ASSIGN_OR_RETURN(const Recovered recovered, Recover(CheckOptions(dir), &damage));
  return Summarize(recovered, damage.reports());
}

std::string RemedyOf(const DamageReport& report) {
  if (report.healed) return "the next start repairs it";
  switch (report.kind) {
    case DamageKind::kSegmentMissing:
    case DamageKind::kOffsets:
      return "repair notes the offsets as lost";
    case DamageKind::kSegmentCut:
    case DamageKind::kRecords:
      return "repair rewrites the file with its readable records and notes the others as lost";
    case DamageKind::kJournal:
    case DamageKind::kJournalCut:
    case DamageKind::kJournalMissing:
      return "repair writes a new journal from the readable frames and segments; groups may read "
             "some records again";
    case DamageKind::kTopicFile:
      return "repair sets the topic's directory aside; alternatively, write the file manually";
    case DamageKind::kTopicMissing:
      return "repair recreates the topic and notes its offsets as lost";
    case DamageKind::kSegmentHeader:
    case DamageKind::kSyncedMark:
    case DamageKind::kUnflushed:
      return "the next start repairs it";
  }
  return "";
}

StatusOr<LogRepair> RepairLog(const std::string& dir, bool dry_run, Clock* clock,
                              const std::vector<DerivedOutputs>& derived) {
  if (!files::Exists(Cat(dir, "/commits")) && !files::Exists(Cat(dir, "/topics"))) {
    return NotFound(Cat(dir, ": not a log; it has neither commits nor topics"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<files::DirectoryLock> lock,
                   files::DirectoryLock::Take(dir));
  DamageLog damage(/*silent=*/true);
  ASSIGN_OR_RETURN(Recovered recovered, Recover(CheckOptions(dir), &damage));
  LogRepair repair;
  repair.before = Summarize(recovered, damage.reports());
  if (repair.before.startable()) return repair;
  RETURN_IF_ERROR(Repair(dir, dry_run, clock, std::move(recovered), &repair).Run(derived));
  return repair;
}

}  // namespace pitwall::log
