// Position up to which each client's updates are durable, in the log or in the spool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::collector {

// Cursor for one boot of a rank. `received` and `written` are sequence numbers of its updates.
struct ClientCursor {
  std::string job, source, boot_id;
  uint64_t received = 0;   // last update with any durable data
  uint64_t written = 0;    // all updates up to this one are fully durable; at most `received`
  uint64_t batch = 0;      // sequence of the last batch
  int64_t promise_ns = 0;  // promise of that batch
  // The rank (tracked_rank.h), set once its hello has been received. "" means that the rank has
  // nothing left to report. In a note, nullopt leaves the known rank unchanged.
  std::optional<std::string> rank;
  friend bool operator==(const ClientCursor&, const ClientCursor&) = default;
};

// Encodes a cursor as the note of a spool record.
std::string EncodeCursor(const ClientCursor& cursor);
std::optional<ClientCursor> DecodeCursor(std::string_view note);

// Newest cursor of each client, for at most `most` clients. Above this limit, the cursors that
// advanced least recently are evicted. Thread-safe.
class ClientCursors {
 public:
  explicit ClientCursors(size_t most = 4096) : most_(most) {}

  // Advances to the cursor in `note`, which belongs to a durable batch. Ignores malformed notes,
  // empty notes, and notes older than the current cursor.
  void Advance(std::string_view note);
  std::optional<ClientCursor> Find(const std::string& job, const std::string& source,
                                   const std::string& boot_id) const;
  // Clears the ranks of the source's other boots, whose ends no longer need to be reported.
  void EndOthers(const std::string& job, const std::string& source, const std::string& boot_id);
  // Clears the ranks of a job that has ended on this node.
  void EndJob(const std::string& job);
  // Returns the ranks whose end has not been reported yet, least recently advanced first.
  std::vector<ClientCursor> Ranks() const;
  // Returns a number that increases with each Advance that changes a cursor.
  uint64_t version() const;
  // Sets a callback that runs after each Advance that changes a cursor. No lock is held during the
  // call.
  void OnAdvance(std::function<void()> call);

  // Save serializes all cursors with a checksum. If the bytes are damaged, Restore returns DataLoss
  // and changes nothing.
  std::string Save() const;
  Status Restore(std::string_view bytes);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Entry {
    ClientCursor cursor;
    uint64_t moved = 0;  // version as of the last change
  };
  bool Put(ClientCursor cursor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_;
  mutable Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Key> by_move_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> on_advance_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::collector
