// A finished job in a folder of its own, which is read anywhere: its segments, and a catalogue with
// its rows alone.
#pragma once

#include <memory>
#include <string>

#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// FailedPrecondition: the folder is not empty. Nothing of the job may change meanwhile.
Status WriteArchive(const HistoryStore& store, const StoredJob& job, const std::string& folder);

// A history that never changes.
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
