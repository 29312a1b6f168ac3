// Telemetry source of one training process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/status.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/processes/process_watch.h"
#include "services/collector/processes/tracked_rank.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/ranks/rank_series.h"
#include "services/collector/ranks/update_progress.h"

namespace pitwall::collector {

// Converts the updates from one boot of a rank into batches. The source survives a lost connection,
// so that a reconnected client continues its sequence. Each batch has a cursor that identifies the
// updates in the log up to and including the batch. After a crash, the next collector resumes the
// rank from the cursor: resent updates that are already in the log do not produce a second batch.
// Owned by the socket thread. The caller owns the sender and the counters.
class RankSource {
 public:
  struct Identity {
    std::string job;
    std::string owner;  // owner of the job
    bool owner_declared = false;
    std::string source;
    std::string boot_id;
    SourceInfo info;
    int64_t world_size = 0;             // 0 if unknown
    uint64_t first_sequence = 1;        // if above 1, a previous collector may know the rank
    bool resends = false;               // whether the client resends updates that are not durable
    std::optional<ClientCursor> known;  // cursor that the previous collector made durable
    WatchedProcess process;
    ProcessHome home;  // scope of the process's PID
  };
  RankSource(Identity identity, BatchSender* sender, Counters* counters);

  // Sends the source's first batch, with its promise and, for a new job, the job's event.
  void Announce(std::vector<JobEvent> events);
  // Publishes an update. If any part of the update is invalid, returns InvalidArgument with the
  // reason and publishes nothing.
  Status Update(const client::v1::Update& update);
  // Ends the rank's series. A repeated call with the same reason has no effect.
  void Goodbye(std::string_view reason);
  // Ends the rank's series with a failure. After Goodbye(), the time of the failure is at least
  // `at_ns` (event time).
  void Failed(int64_t at_ns, std::string_view exception, const ProcessEnd& end);
  // Reports that the process ended without a goodbye at `at_ns` (event time). All of its data must
  // have been sent.
  void Lost(int64_t at_ns, const ProcessEnd& end);
  // Reports that the launcher has exited too. Called after Lost().
  void LauncherGone(int64_t at_ns);

  const Identity& identity() const { return identity_; }
  // Event time at which the connection closed; far in the past while the connection is open.
  void NoteClosed(int64_t at_ns) { closed_at_ns_ = at_ns; }
  int64_t closed_at_ns() const { return closed_at_ns_; }
  // Returns the last received update. The client need not resend it to this collector.
  uint64_t received() const { return progress_.received(); }
  // The rank's activity as of the last update.
  struct Doing {
    std::string phase;
    std::string mode;
    uint64_t step_plus_one = 0;
    std::optional<bool> loop_open;  // empty if the rank has not run a loop
  };
  const Doing& doing() const { return doing_; }
  // Sets whether the connected client keeps its updates, and whether it responds to a Capture. A
  // client that connects with the same boot ID may have a newer version.
  void Connect(bool resends, bool captures);
  bool captures() const { return captures_; }

 private:
  void Receive(const client::v1::Update& update);
  SourceInfo Info() const;
  // Returns the cursor for the next batch. `rank` is the cursor's rank; "" means that the rank has
  // nothing left to report.
  ClientCursor Cursor(std::optional<std::string> rank) const;
  Batch Begin();
  void SendEvent(JobEvent event);
  void SendGoodbye(std::string_view reason, std::vector<JobEvent> events);

  int64_t closed_at_ns_ = INT64_MIN / 2;
  Identity identity_;
  BatchSender* const sender_;
  Counters* const counters_;
  RankSeries series_;
  SourceState state_;
  UpdateProgress progress_;
  Doing doing_;
  bool captures_ = false;
  std::optional<std::string> goodbye_;  // reason of the published goodbye
};

}  // namespace pitwall::collector
