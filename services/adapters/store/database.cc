#include "services/adapters/store/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>

#include "services/base/binary.h"
#include "services/base/cancellation.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::store {
namespace {

constexpr uint8_t kCounts = 0;
constexpr size_t kKinds = 256;

uint32_t CrcOf(uint8_t kind, std::string_view job, std::string_view key, std::string_view body) {
  BinaryWriter head;
  head.U8(kind);
  head.Str(job);
  head.Str(key);
  head.U64(body.size());
  return Crc32c(body, Crc32c(head.data()));
}

std::string_view ColumnBytes(sqlite3_stmt* statement, int column) {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, column));
  const int size = sqlite3_column_bytes(statement, column);
  return data == nullptr ? std::string_view() : std::string_view(data, static_cast<size_t>(size));
}

void BindAt(sqlite3_stmt* statement, int index, int64_t number) {
  sqlite3_bind_int64(statement, index, number);
}
// Binds a non-null pointer because SQLite would store a null pointer as NULL instead of empty
// bytes.
void BindAt(sqlite3_stmt* statement, int index, std::string_view bytes) {
  sqlite3_bind_blob(statement, index, bytes.empty() ? "" : bytes.data(),
                    static_cast<int>(bytes.size()), SQLITE_STATIC);
}
// Binds all parameters of a statement. The bytes must stay valid until the statement is executed.
template <typename Statement, typename... Values>
void Bind(const Statement& statement, const Values&... values) {
  sqlite3_reset(statement.get());
  int index = 0;
  (BindAt(statement.get(), ++index, values), ...);
}

constexpr std::string_view kIsRebuilt =
    ", and it will be rebuilt from the segments and the log at the next start";

}  // namespace

Status Database::Fail(int code, std::string_view what) const {
  const std::string message = Cat(path_, ": ", what, ": ", sqlite3_errmsg(db_));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ResourceExhausted(Cat(message, "; free up space on this disk"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // statements are constant, so the file has a different schema
    case SQLITE_MISMATCH:
      return DataLoss(Cat(message,
                          "; move aside the file and all files whose names start with its name",
                          kIsRebuilt));
    default:
      return Unavailable(message);
  }
}

StatusOr<Database::Statement> Database::Prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) return Fail(code, "catalogue");
  return Statement(statement, sqlite3_finalize);
}

Status Database::Execute(const char* sql) const {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : Fail(code, "catalogue");
}

StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, bool read_only) {
  sqlite3* db = nullptr;
  // Only the owner may access the file, because the catalog contains the jobs of all users.
  // SQLite's own files get the same mode.
  const mode_t old_mask = ::umask(077);
  const int flags =
      (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
      SQLITE_OPEN_FULLMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  std::unique_ptr<Database> out(new Database(path, db));
  MutexLock lock(&out->mutex_);
  Status status = code == SQLITE_OK ? OkStatus() : out->Fail(code, "open");
  if (status.ok()) {
    sqlite3_busy_timeout(db, 5000);
    if (!read_only) {
      status = out->Execute(
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
          "PRAGMA wal_autocheckpoint=0; PRAGMA cell_size_check=ON;"
          "CREATE TABLE IF NOT EXISTS rows(kind INTEGER NOT NULL, job BLOB NOT NULL, key BLOB NOT "
          "NULL, body BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY(kind, job, key)) WITHOUT "
          "ROWID;");
    }
  }
  ::umask(old_mask);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(out->Check());
  return out;
}

Database::~Database() { sqlite3_close(db_); }

Status Database::Check() {
  ASSIGN_OR_RETURN(const Statement check, Prepare("PRAGMA integrity_check(1)"));
  const int code = sqlite3_step(check.get());
  if (code != SQLITE_ROW) return Fail(code, "integrity_check");
  if (const std::string_view result = ColumnBytes(check.get(), 0); result != "ok")
    return DataLoss(Cat(path_, ": damaged (", result, "); move it aside", kIsRebuilt));
  std::vector<int64_t> counts(kKinds, 0);
  std::vector<int64_t> found(kKinds, 0);
  ASSIGN_OR_RETURN(const Statement statement,
                   Prepare("SELECT kind, job, key, body, crc FROM rows ORDER BY kind, job, key"));
  RETURN_IF_ERROR(Walk(statement, [&](DatabaseRow row) {
    if (row.kind != kCounts) {
      ++found[row.kind];
      return OkStatus();
    }
    BinaryReader in(row.body);
    const uint8_t kind = in.U8();
    counts[kind] = in.I64();
    return in.Finish(path_);
  }));
  for (size_t kind = 1; kind < kKinds; ++kind) {
    if (found[kind] != counts[kind]) {
      return DataLoss(Cat(path_, ": has ", found[kind], " rows of kind ", kind, " instead of ",
                          counts[kind], "; move it aside", kIsRebuilt));
    }
  }
  counts_ = std::move(counts);
  return OkStatus();
}

Status Database::Walk(const Statement& statement,
                      const std::function<Status(DatabaseRow)>& row) const {
  sqlite3_stmt* const at = statement.get();
  while (true) {
    const int code = sqlite3_step(at);
    if (code == SQLITE_DONE) return OkStatus();
    if (code != SQLITE_ROW) return Fail(code, "read");
    RETURN_IF_ERROR(CheckCanceled());
    DatabaseRow out;
    const int64_t kind = sqlite3_column_int64(at, 0);
    out.job = ColumnBytes(at, 1);
    out.key = ColumnBytes(at, 2);
    out.body = ColumnBytes(at, 3);
    const int64_t crc = sqlite3_column_int64(at, 4);
    out.kind = static_cast<uint8_t>(kind);
    if (kind < 0 || kind >= static_cast<int64_t>(kKinds) ||
        crc != static_cast<int64_t>(CrcOf(out.kind, out.job, out.key, out.body))) {
      return DataLoss(Cat(path_, ": a row of kind ", kind,
                          " is damaged (CRC mismatch); move the file aside", kIsRebuilt));
    }
    RETURN_IF_ERROR(row(std::move(out)));
  }
}

Status Database::ForEach(uint8_t kind, const std::function<Status(DatabaseRow)>& row) const {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(
      const Statement statement,
      Prepare("SELECT kind, job, key, body, crc FROM rows WHERE kind = ? ORDER BY job, key"));
  Bind(statement, int64_t{kind});
  return Walk(statement, row);
}

Status Database::ForEachOf(uint8_t kind, std::string_view job,
                           const std::function<Status(DatabaseRow)>& row) const {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const Statement statement,
                   Prepare("SELECT kind, job, key, body, crc FROM rows WHERE "
                           "kind = ? AND job = ? ORDER BY key"));
  Bind(statement, int64_t{kind}, job);
  return Walk(statement, row);
}

Status Database::RemoveJob(const std::string& job, std::vector<int64_t>* counts) {
  ASSIGN_OR_RETURN(
      const Statement count,
      Prepare("SELECT kind, count(*) FROM rows WHERE job = ? AND kind > 0 GROUP BY kind"));
  Bind(count, job);
  int code;
  while ((code = sqlite3_step(count.get())) == SQLITE_ROW)
    (*counts)[static_cast<size_t>(sqlite3_column_int64(count.get(), 0)) % kKinds] -=
        sqlite3_column_int64(count.get(), 1);
  if (code != SQLITE_DONE) return Fail(code, "remove");
  ASSIGN_OR_RETURN(const Statement remove, Prepare("DELETE FROM rows WHERE job = ? AND kind > 0"));
  Bind(remove, job);
  code = sqlite3_step(remove.get());
  return code == SQLITE_DONE ? OkStatus() : Fail(code, "remove");
}

Status Database::ApplyInside(const DatabaseChange& change) {
  std::vector<int64_t> counts = counts_;
  ASSIGN_OR_RETURN(const Statement remove,
                   Prepare("DELETE FROM rows WHERE kind = ? AND job = ? AND key = ?"));
  const auto remove_row = [&](const DatabaseRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Bind(remove, int64_t{row.kind}, row.job, row.key);
    const int code = sqlite3_step(remove.get());
    if (code != SQLITE_DONE) return Fail(code, "remove");
    counts[row.kind] -= sqlite3_changes(db_);
    return OkStatus();
  };
  for (const DatabaseRow& row : change.removed) RETURN_IF_ERROR(remove_row(row));
  for (const std::string& job : change.removed_jobs) RETURN_IF_ERROR(RemoveJob(job, &counts));
  ASSIGN_OR_RETURN(
      const Statement put,
      Prepare("INSERT OR REPLACE INTO rows(kind, job, key, body, crc) VALUES(?,?,?,?,?)"));
  const auto put_row = [&](uint8_t kind, std::string_view job, std::string_view key,
                           std::string_view body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Bind(put, int64_t{kind}, job, key, body, int64_t{CrcOf(kind, job, key, body)});
    const int code = sqlite3_step(put.get());
    return code == SQLITE_DONE ? OkStatus() : Fail(code, "write");
  };
  // Rows are applied in order. If a row occurs twice, the later version is stored, and the row
  // counts once.
  for (const DatabaseRow& row : change.put) {
    RETURN_IF_ERROR(remove_row(row));
    RETURN_IF_ERROR(put_row(row.kind, row.job, row.key, row.body));
    ++counts[row.kind];
  }
  for (size_t kind = 1; kind < kKinds; ++kind) {
    if (counts[kind] == counts_[kind]) continue;
    BinaryWriter body;
    body.U8(static_cast<uint8_t>(kind));
    body.I64(counts[kind]);
    const char key = static_cast<char>(kind);
    RETURN_IF_ERROR(put_row(kCounts, "", std::string_view(&key, 1), body.data()));
  }
  RETURN_IF_ERROR(Execute("COMMIT"));
  counts_ = std::move(counts);
  return OkStatus();
}

Status Database::Apply(const DatabaseChange& change) {
  if (change.empty()) return OkStatus();
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  Status status = ApplyInside(change);
  if (!status.ok()) (void)sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  // The write-ahead file must not grow beyond a few megabytes.
  struct stat info {};
  if (status.ok() && ::stat((path_ + "-wal").c_str(), &info) == 0 && info.st_size > (8 << 20))
    (void)Execute("PRAGMA wal_checkpoint(TRUNCATE)");
  return status;
}

Status Database::Settle() {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const Statement statement, Prepare("PRAGMA wal_checkpoint(TRUNCATE)"));
  const int code = sqlite3_step(statement.get());
  if (code != SQLITE_ROW) return Fail(code, "checkpoint");
  if (sqlite3_column_int64(statement.get(), 0) != 0)
    return Unavailable(Cat(path_, ": the write-ahead file is in use"));
  return OkStatus();
}

}  // namespace pitwall::store
