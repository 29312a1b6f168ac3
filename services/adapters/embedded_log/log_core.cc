#include "services/adapters/embedded_log/log_core.h"

#include <map>
#include <tuple>
#include <utility>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/embedded_log/format/retention_clock.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

Status CheckOptions(const EmbeddedLogOptions& o) {
  if (o.dir.empty()) return InvalidArgument("embedded log: dir must be set");
  if (o.max_record_bytes == 0 || o.max_record_bytes > kLargestRecordBytes) {
    return InvalidArgument(Cat("embedded log: max_record_bytes must be 1 to ", kLargestRecordBytes,
                               " (got ", o.max_record_bytes, ")"));
  }
  if (o.segment_bytes < 1 || o.segment_ms < 1 || o.checkpoint_bytes < 1 ||
      o.fsync_interval_ms < 1 || o.tombstone_retention_ms < 0) {
    return InvalidArgument(
        "embedded log: segment_bytes, segment_ms, checkpoint_bytes, and fsync_interval_ms must be "
        "at least 1, and tombstone_retention_ms must be at least 0");
  }
  if (!(o.compaction_dirty_share > 0 && o.compaction_dirty_share <= 1)) {
    return InvalidArgument("embedded log: compaction_dirty_share must be in (0, 1]");
  }
  return OkStatus();
}

// Returns one check for each segment that was not verified when the log was opened.
std::vector<std::function<Status()>> ChecksOf(Recovered* recovered,
                                              const std::shared_ptr<DamageLog>& damage) {
  std::vector<std::function<Status()>> checks;
  std::map<PartitionKey, std::shared_ptr<const PartitionContent>> contents;
  for (const Unverified& rest : recovered->unverified) {
    auto& content = contents[rest.key];
    if (content == nullptr) {
      content = std::make_shared<const PartitionContent>(recovered->partitions[rest.key]);
    }
    checks.push_back([damage, content, index = rest.index, facts = recovered->facts[rest.key],
                      dir = recovered->files[rest.key].dir] {
      return VerifySegment(facts, dir, *content, index, damage.get());
    });
  }
  return checks;
}

}  // namespace

LogCore::LogCore(const EmbeddedLogOptions& options, Clock* clock)
    : options_(options),
      clock_(clock),
      state_(std::make_shared<CommittedState>()),
      damage_(std::make_shared<DamageLog>()),
      topics_(options_, state_.get()) {}

LogCore::~LogCore() { Close(); }

StatusOr<std::shared_ptr<LogCore>> LogCore::Open(const EmbeddedLogOptions& options, Clock* clock) {
  RETURN_IF_ERROR(CheckOptions(options));
  std::shared_ptr<LogCore> core(new LogCore(options, clock));
  RETURN_IF_ERROR(core->Start());
  return core;
}

Status LogCore::LockDirectory() {
  RETURN_IF_ERROR(files::MakeDirectories(options_.dir));
  ASSIGN_OR_RETURN(lock_, files::DirectoryLock::Take(options_.dir));
  ASSIGN_OR_RETURN(const int64_t tightened, files::TightenModes(options_.dir));
  if (tightened > 0) {
    PITWALL_LOG(
        kWarning, "log", options_.dir, ": ", tightened,
        " files and directories were accessible to other users; restricted them to their owner");
  }
  return OkStatus();
}

Status LogCore::Start() {
  if (!options_.read_only) RETURN_IF_ERROR(LockDirectory());
  ASSIGN_OR_RETURN(Recovered recovered, Recover(options_, damage_.get()));
  if (!options_.read_only) {
    RETURN_IF_ERROR(files::MakeDirectories(Cat(options_.dir, "/topics")));
    RETURN_IF_ERROR(files::MakeDirectories(Cat(options_.dir, "/commits")));
    RETURN_IF_ERROR(files::RemoveTree(Cat(options_.dir, "/making-topic")));
    RETURN_IF_ERROR(ClearAway(options_, recovered, damage_->reports()));
  }
  std::vector<std::function<Status()>> checks;
  if (!options_.read_only && options_.background) checks = ChecksOf(&recovered, damage_);
  topics_.AddRecovered(&recovered);
  CommittedState::Publication publication;
  publication.positions = std::move(recovered.positions);
  publication.epochs = std::move(recovered.epochs);
  state_->Publish(publication);
  if (options_.read_only) return OkStatus();
  RETURN_IF_ERROR(StartWriter(recovered));
  if (options_.background) {
    const bool flushes = options_.fsync == FsyncPolicy::kInterval;
    threads_->Start(writer_.get(), maintenance_.get(),
                    flushes ? options_.fsync_interval_ms * kNanosPerMilli : 0, std::move(checks));
  }
  return OkStatus();
}

Status LogCore::StartWriter(const Recovered& recovered) {
  ASSIGN_OR_RETURN(RetentionClock retention_clock,
                   RetentionClock::Load(options_.dir, recovered.sequence > 0, clock_));
  CommitWriter::Start start;
  start.sequence = recovered.sequence;
  ASSIGN_OR_RETURN(start.journal,
                   CommitJournal::Open(Cat(options_.dir, "/commits"), recovered.journal.number,
                                       recovered.journal.bytes, recovered.journal.checkpoint_bytes,
                                       recovered.journal.flush, options_.faults));
  if (recovered.journal.number == 0) RETURN_IF_ERROR(files::SyncDirectory(options_.dir));
  threads_ = std::make_unique<BackgroundThreads>(clock_);
  writer_ = std::make_unique<CommitWriter>(options_, clock_, state_.get(), std::move(start),
                                           threads_->wake());
  const Maintenance::Parts parts{state_.get(), &topics_, writer_.get(), damage_.get()};
  maintenance_ = std::make_unique<Maintenance>(options_, parts, std::move(retention_clock));
  return recovered.journal.rewrite ? writer_->Checkpoint() : OkStatus();
}

Status LogCore::RequireWritable() const {
  if (writer_ != nullptr) return OkStatus();
  return FailedPrecondition(Cat("data directory ", options_.dir, " is open read-only"));
}

Status LogCore::RequireOpen() {
  RETURN_IF_ERROR(RequireWritable());
  MutexLock lock(&close_mutex_);
  return closed_ ? FailedPrecondition("the log is closed") : OkStatus();
}

Status LogCore::EnsureTopic(std::string_view name, const TopicConfig& config) {
  return topics_.Ensure(name, config, writer_.get(), [this] { return RequireOpen(); });
}

Status LogCore::Submit(CommitRequest* request) {
  RETURN_IF_ERROR(RequireWritable());
  return writer_->Submit(request);
}

Status LogCore::Sync() {
  RETURN_IF_ERROR(RequireWritable());
  return writer_->Sync(/*durable_mark=*/false);
}

Status LogCore::ApplyRetention() {
  RETURN_IF_ERROR(RequireWritable());
  return maintenance_->Retain();
}

Status LogCore::Maintain() {
  RETURN_IF_ERROR(RequireWritable());
  return maintenance_->RetainAndCompact();
}

void LogCore::Close() {
  {
    MutexLock lock(&close_mutex_);
    if (closed_) return;
    closed_ = true;
  }
  if (threads_ != nullptr) threads_->Stop();
  if (maintenance_ != nullptr) {
    const Status closed = Annotate(maintenance_->CloseWriter(), "on close");
    if (!closed.ok()) PITWALL_LOG(kWarning, "log", ToStd(closed.message()));
  }
  lock_.reset();
}

EmbeddedLogStats LogCore::Stats() {
  EmbeddedLogStats stats;
  if (writer_ != nullptr) writer_->AddTo(&stats);
  std::tie(stats.segments, stats.segment_bytes) = state_->Totals();
  if (maintenance_ != nullptr) maintenance_->AddTo(&stats);
  return stats;
}

}  // namespace pitwall::log
