// Portable copy of a finished job in a folder of its own: its segments, and a catalog that
// contains only its rows.
#pragma once

#include <memory>
#include <string>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// FailedPrecondition: the folder is not empty. The job must not change during the call.
Status WriteArchive(const HistoryStore& store, const StoredJob& job, const std::string& folder);

// Read-only history of an archived job.
class Archive {
 public:
  // NotFound, or DataLoss that names the file.
  static StatusOr<std::unique_ptr<Archive>> Open(const std::string& folder);
  ~Archive();
  const History& history() const;

 private:
  Archive() = default;
  std::unique_ptr<HistoryStore> store_;
  std::unique_ptr<History> reader_;
};

}  // namespace pitwall::history
