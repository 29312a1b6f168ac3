#include "services/adapters/embedded_log/commit/dirty_files.h"

#include <string>

#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/text/strings.h"

namespace pitwall::log {

FlushResult FlushFiles(const DirtyFiles& dirty) {
  FlushResult result;
  const auto failed = [&](CommittedState::Partition* partition, const Status& status) {
    const Status named = Annotate(status, Cat("partition ", partition->name()));
    result.failed.emplace(partition, named);
    if (result.first.ok()) result.first = named;
  };
  for (const auto& [partition, directory] : dirty.directories) {
    ++result.flushes;
    if (const Status synced = directory->Sync(); !synced.ok()) {
      failed(partition, synced);
      result.left.directories.emplace(partition, directory);
    }
  }
  for (const auto& [key, entry] : dirty.files) {
    ++result.flushes;
    if (const Status synced = entry.file->Sync(); !synced.ok()) {
      failed(entry.partition, synced);
      result.left.files.emplace(key, entry);
    }
  }
  return result;
}

Status WriteAgain(const DirtyFiles::Entry& entry) {
  ASSIGN_OR_RETURN(const int64_t size, entry.file->Size());
  std::string block;
  int64_t at = entry.from <= kSegmentHeaderBytes ? 0 : entry.from;
  while (at < size) {
    block.resize(static_cast<size_t>(std::min<int64_t>(size - at, 1 << 20)));
    ASSIGN_OR_RETURN(const size_t got, entry.file->ReadAt(at, block.data(), block.size()));
    if (got == 0) break;
    block.resize(got);
    RETURN_IF_ERROR(entry.file->WriteAt(at, block));
    at += static_cast<int64_t>(got);
  }
  return OkStatus();
}

}  // namespace pitwall::log
