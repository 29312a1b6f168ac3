// Recovery of segments that are missing from the catalog. It runs when a store starts.
//
// The catalog may be empty, outdated, or missing its write-ahead file. Segments describe
// themselves, so the catalog is only an index. The catalog alone is never a reason to delete a
// segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/history/store/history_store.h"

namespace pitwall::history {

// Folder next to "segments" for files that cannot be adopted. The history never reads or removes
// these files.
inline constexpr char kQuarantineFolder[] = "quarantine";
// Suffix of a job's folder while the job is being deleted.
inline constexpr char kDeletedSuffix[] = ".deleted";

// Results of a recovery pass: the number of files in each category.
struct RecoveredSegments {
  size_t adopted = 0;      // added to the catalog
  size_t quarantined = 0;  // moved to the quarantine folder
  size_t superseded = 0;   // removed because a newer segment contains all of their data
  size_t missing = 0;      // windows whose listed segment is absent or has a different size
};

// One recovery pass over the segments folder. Not thread-safe. The caller owns the store.
class SegmentRecovery {
 public:
  explicit SegmentRecovery(HistoryStore* store) : store_(*store) {}

  // Adopts, quarantines, or removes each unlisted segment and reports missing listed segments.
  // After an error, the remaining files are left unchanged. Returns ResourceExhausted or
  // Unavailable if a file could not be opened for a reason unrelated to its content.
  StatusOr<RecoveredSegments> Run();

 private:
  using WindowKey = std::pair<std::string, int64_t>;  // (job ID, window start)
  struct Candidate {
    std::string path;
    uint64_t generation = 0;
  };
  // Candidates for the windows in one job's folder, keyed by the window start in the file name,
  // newest first.
  using Candidates = std::map<int64_t, std::vector<Candidate>>;

  Status FinishDeletions();
  Status ScanNamed();
  Status ScanFolder(const std::string& folder);
  // Adopts, removes, or quarantines all unlisted files of one window.
  Status Settle(std::vector<Candidate> candidates);
  // Returns the listed segment of the window, or nullptr if the segment is absent or damaged.
  StatusOr<std::shared_ptr<const WindowSegment>> OpenNamed(const WindowKey& key) const;
  Status Adopt(const WindowSegment& segment, const std::string& path);
  Status Supersede(const std::string& path);
  Status Quarantine(const std::string& path, std::string_view reason);
  void Report(std::string_view line);

  HistoryStore& store_;
  RecoveredSegments found_;
  std::map<WindowKey, SegmentMeta> named_;
  std::set<std::string> named_paths_;
  std::map<WindowKey, std::string> missing_;            // listed, but absent or of a different size
  std::set<std::pair<std::string, uint64_t>> schemas_;  // saved in this pass, by job
  size_t reports_ = 0;
};

}  // namespace pitwall::history
