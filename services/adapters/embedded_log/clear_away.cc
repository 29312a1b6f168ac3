// Cleanup and flushing of an existing log before a writer starts.
#include <algorithm>

#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/adapters/embedded_log/recovery.h"
#include "services/adapters/files/file.h"

namespace pitwall::log {

Status ClearAway(const EmbeddedLogOptions& options, const Recovered& recovered,
                 const std::vector<DamageReport>& found) {
  for (const DamageReport& report : found) {
    if (report.kind != DamageKind::kSegmentHeader) continue;
    const auto name = SegmentName::Parse(report.path.substr(report.path.rfind('/') + 1));
    if (!name.has_value()) continue;
    ASSIGN_OR_RETURN(const std::shared_ptr<files::File> file,
                     files::File::Open(report.path, files::File::Mode::kWrite));
    RETURN_IF_ERROR(file->WriteAt(0, SegmentHeader(name->base_offset)));
    RETURN_IF_ERROR(file->Sync());
  }
  for (const Topic& topic : recovered.topics) {
    const auto& names = recovered.topics_to_write;
    if (std::find(names.begin(), names.end(), topic.name) != names.end()) {
      RETURN_IF_ERROR(RewriteTopic(topic, options.faults));
    }
  }
  for (const auto& [key, files] : recovered.files) {
    const auto content = recovered.partitions.find(key);
    RETURN_IF_ERROR(ClearAway(files, content->second));
  }
  for (const std::string& path : recovered.journal.older) RETURN_IF_ERROR(files::Remove(path));
  // The previous process wrote these files without flushing them. The new journal mark will claim
  // that everything before it is flushed, so the files must be flushed first.
  for (const std::string& path : recovered.unflushed) {
    auto file = files::File::Open(path, files::File::Mode::kWrite);
    if (file.status().code() == absl::StatusCode::kNotFound) continue;  // compacted in the meantime
    RETURN_IF_ERROR(file.status());
    RETURN_IF_ERROR((*file)->Sync());
  }
  for (const std::string& dir : recovered.unflushed_dirs)
    RETURN_IF_ERROR(files::SyncDirectory(dir));
  return OkStatus();
}

}  // namespace pitwall::log
