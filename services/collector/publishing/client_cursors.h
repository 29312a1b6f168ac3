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

// One boot of one rank. Sequences are those of its updates.
struct ClientCursor {
  std::string job, source, boot_id;
  uint64_t received = 0;   // the last update of which something is durable
  uint64_t written = 0;    // everything in the updates up to here is durable; at most `received`
  uint64_t batch = 0;      // sequence of the last batch
  int64_t promise_ns = 0;  // of that batch
  // The rank (tracked_rank.h), from its hello on; "": nothing is left to report. In a note, empty:
  // as before.
  std::optional<std::string> rank;
  friend bool operator==(const ClientCursor&, const ClientCursor&) = default;
};

// A cursor as bytes: the note of a record in the spool.
std::string EncodeCursor(const ClientCursor& cursor);
std::optional<ClientCursor> DecodeCursor(std::string_view note);

// The newest cursor of each client, at most so many: beyond that the ones that moved longest ago
// go. Thread-safe.
class ClientCursors {
 public:
  explicit ClientCursors(size_t most = 4096) : most_(most) {}

  // The batch with this note is durable. One that is older than what is known changes nothing, and
  // neither does a malformed or an empty one.
  void Advance(std::string_view note);
  std::optional<ClientCursor> Find(const std::string& job, const std::string& source,
                                   const std::string& boot_id) const;
  // The source has begun another boot: nothing remains to be reported of its earlier ones.
  void EndOthers(const std::string& job, const std::string& source, const std::string& boot_id);
  // The job is over on this node: nothing remains to be reported of its ranks.
  void EndJob(const std::string& job);
  // Of the ranks whose end is still to be reported, the ones that moved longest ago first.
  std::vector<ClientCursor> Ranks() const;
  // Grows with each Advance that changed something.
  uint64_t version() const;
  // Called, with no lock held, after such an Advance.
  void OnAdvance(std::function<void()> call);

  // All of them, with a checksum. DataLoss: damaged; nothing is taken over then.
  std::string Save() const;
  Status Restore(std::string_view bytes);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Entry {
    ClientCursor cursor;
    uint64_t moved = 0;  // the version then
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
