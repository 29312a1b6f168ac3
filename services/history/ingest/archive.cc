#include "services/history/ingest/archive.h"

#include "services/base/text/strings.h"
#include "services/history/query/segment_query.h"

namespace pitwall::history {

Status WriteArchive(const HistoryStore& store, const StoredJob& job, const std::string& folder) {
  RETURN_IF_ERROR(files::MakeDirectories(folder));
  ASSIGN_OR_RETURN(const auto names, files::ListDirectory(folder));
  if (!names.empty())
    return FailedPrecondition(Cat(folder, ": the folder must not exist or must be empty"));
  store::DatabaseChange change;
  for (const uint8_t kind : {kBootRow, kSchemaRow, kPackedSchemaRow, kSegmentRow, kEventRow}) {
    RETURN_IF_ERROR(store.database().ForEachOf(kind, job.id(), [&](store::DatabaseRow row) {
      change.put.push_back(std::move(row));
      return OkStatus();
    }));
  }
  for (const auto& [start, window] : job.windows()) {
    if (!window.sealed.has_value()) continue;
    const std::string from = store.segments().PathOf(*window.sealed);
    ASSIGN_OR_RETURN(const std::string bytes, files::ReadWhole(from, size_t{1} << 40));
    const std::string to = folder + from.substr(store.dir().size());
    RETURN_IF_ERROR(files::MakeDirectories(to.substr(0, to.rfind('/'))));
    RETURN_IF_ERROR(files::ReplaceFile(to, bytes, store.faults()));
    // The whole segment is checked, because an archive must not hide damage on the source disk.
    ASSIGN_OR_RETURN(const auto segment, WindowSegment::Open(to, &*window.sealed));
    RETURN_IF_ERROR(segment->CheckAll());
  }
  // The catalog is written last, so a folder without a catalog is not a complete archive.
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(folder + "/catalogue.db"));
  RETURN_IF_ERROR(database->Apply(change));
  return database->Settle();
}

StatusOr<std::unique_ptr<Archive>> Archive::Open(const std::string& folder) {
  std::unique_ptr<Archive> out(new Archive());
  ASSIGN_OR_RETURN(out->store_, HistoryStore::Open(folder, true, 0, nullptr));
  out->reader_ = std::make_unique<SegmentQuery>(out->store_.get());
  return out;
}

Archive::~Archive() = default;

const History& Archive::history() const { return *reader_; }

}  // namespace pitwall::history
