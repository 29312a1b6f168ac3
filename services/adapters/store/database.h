// SQLite database for a store's catalog. It contains byte rows keyed by (kind, job, key), each with
// a CRC-32C. No other module uses SQLite.
//
// The database stores the number of rows per kind, so missing rows are detected as well as changed
// rows. A committed transaction survives kill -9 and power loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace pitwall::store {

struct DatabaseRow {
  uint8_t kind = 1;  // 1 to 255
  std::string job;
  std::string key;
  std::string body;
};

// Changes in one transaction, applied in field order.
struct DatabaseChange {
  std::vector<DatabaseRow> removed;       // bodies are ignored; missing rows are allowed
  std::vector<std::string> removed_jobs;  // removes all rows of these jobs
  std::vector<DatabaseRow> put;           // added or replaced
  bool empty() const { return removed.empty() && removed_jobs.empty() && put.empty(); }
};

// Thread-safe. If the file is damaged, methods return DataLoss with the file name. If the disk is
// full, they roll back the transaction and return ResourceExhausted.
class Database {
 public:
  // Opens the file, or creates it if it does not exist, and checks its structure, CRCs, and row
  // counts. With `read_only`, creates and changes nothing.
  static StatusOr<std::unique_ptr<Database>> Open(const std::string& path, bool read_only = false);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Status Apply(const DatabaseChange& change);
  // Visits rows in (job, key) order. An error from `row` ends the iteration and is returned.
  Status ForEach(uint8_t kind, const std::function<Status(DatabaseRow)>& row) const;
  Status ForEachOf(uint8_t kind, std::string_view job,
                   const std::function<Status(DatabaseRow)>& row) const;
  // Checkpoints and truncates the write-ahead file, so that removed data is in neither file.
  Status Settle();
  const std::string& path() const { return path_; }

 private:
  // Statement that is finalized when it goes out of scope.
  using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  Database(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  Status Execute(const char* sql) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<Statement> Prepare(const char* sql) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Fail(int code, std::string_view what) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Walk(const Statement& statement, const std::function<Status(DatabaseRow)>& row) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Check() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ApplyInside(const DatabaseChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status RemoveJob(const std::string& job, std::vector<int64_t>* counts)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  mutable Mutex mutex_;
  sqlite3* const db_;
  std::vector<int64_t> counts_ ABSL_GUARDED_BY(mutex_);  // by kind
};

}  // namespace pitwall::store
