// Portable copy of a finished job in a separate folder. It contains the job's segments and a
// catalog with only the job's rows.
#pragma once

#include <memory>
#include <string>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Writes the archive. Returns FailedPrecondition if the folder is not empty. The job must not
// change during the call.
Status WriteArchive(const HistoryStore& store, const StoredJob& job, const std::string& folder);

// Read-only history of an archived job.
class Archive {
 public:
  // Opens the archive. Returns NotFound if there is no archive, or DataLoss (naming the file) if a
  // file is damaged.
  static StatusOr<std::unique_ptr<Archive>> Open(const std::string& folder);
  ~Archive();
  const History& history() const;

 private:
  Archive() = default;
  std::unique_ptr<HistoryStore> store_;
  std::unique_ptr<History> reader_;
};

}  // namespace pitwall::history
