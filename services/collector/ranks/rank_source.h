// Telemetry source of one training process.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/status.h"
#include "services/codec/steps/step_series.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/processes/process_watch.h"
#include "services/collector/processes/tracked_rank.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/client_cursors.h"

namespace pitwall::collector {

// Maximum length of texts from clients.
inline constexpr size_t kMaxClientText = 1024;

// Converts the updates of one boot of one rank into batches. The source survives a lost connection,
// so that a reconnected client continues its sequence. Each batch carries a cursor of the updates
// that are in the log with it. After a crash, the next collector uses the cursor to resume the
// rank: updates that are resent and already in the log do not produce a second batch. Owned by the
// socket thread. Sender and counters are not owned.
class RankSource {
 public:
  struct Identity {
    std::string job;
    std::string owner;  // of the job
    bool owner_declared = false;
    std::string source;
    std::string boot_id;
    SourceInfo info;
    int64_t world_size = 0;       // 0: unknown
    uint64_t first_sequence = 1;  // above 1: a previous collector may know the rank
    bool resends = false;  // the client keeps its updates and resends those that are not durable
    std::optional<ClientCursor> known;  // cursor made durable by the previous collector
    WatchedProcess process;
    ProcessHome home;  // scope of the process's PID
  };
  RankSource(Identity identity, BatchSender* sender, Counters* counters);

  // Sends the source's first batch with its promise and, for a new job, the job's event.
  void Announce(std::vector<JobEvent> events);
  // Publishes an update. Returns InvalidArgument with the reason if any part of the update is
  // invalid, and then publishes none of it.
  Status Update(const client::v1::Update& update);
  // Ends the rank's series. A repeated call with the same reason has no effect.
  void Goodbye(std::string_view reason);
  // Ends the rank's series with a failure, at the time of the goodbye, or at `at_ns` (event time)
  // after Goodbye().
  void Failed(int64_t at_ns, std::string_view exception, const ProcessEnd& end);
  // Reports that the process ended without a goodbye at `at_ns` (event time). All of its data must
  // have been sent.
  void Lost(int64_t at_ns, const ProcessEnd& end);
  // Reports, after Lost(), that the process that started the ranks has ended too.
  void LauncherGone(int64_t at_ns);

  const Identity& identity() const { return identity_; }
  // Time when the connection closed, in event time; far in the past while it is open.
  void NoteClosed(int64_t at_ns) { closed_at_ns_ = at_ns; }
  int64_t closed_at_ns() const { return closed_at_ns_; }
  // Returns the last received update, which the client need not resend to this collector.
  uint64_t received() const { return last_update_; }
  // Activity of the rank as of the last update.
  struct Doing {
    std::string phase;
    std::string mode;
    uint64_t step_plus_one = 0;
    std::optional<bool> loop_open;  // empty: it has not run a loop
  };
  const Doing& doing() const { return doing_; }
  // Sets whether the connected client keeps its updates. A newer version of the client may connect
  // with the same boot ID.
  void SetResends(bool resends) { identity_.resends = resends; }
  // Sets whether the connected client answers a Capture.
  void SetCaptures(bool captures) { captures_ = captures; }
  bool captures() const { return captures_; }

 private:
  Status Check(const client::v1::Update& update) const;
  void Add(const client::v1::Update& update, Batch* batch);
  void CountMissed(const client::v1::Update& update);
  ClientCursor Cursor() const;
  // Returns a cursor that marks the rank as completely reported.
  ClientCursor LastCursor() const;
  void Hold(std::string_view mode, int64_t step);
  Batch Begin();
  void SendEvent(JobEvent event);
  void SendGoodbye(std::string_view reason, std::vector<JobEvent> events);
  // Returns the state that the next collector needs.
  std::string Known(std::optional<std::string> goodbye) const;
  void AddMode(const std::string& mode);
  void CountDrops();

  int64_t closed_at_ns_ = INT64_MIN / 2;
  Identity identity_;
  BatchSender* const sender_;
  Counters* const counters_;
  steps::StepSeries series_;
  SourceState state_;
  int64_t schemas_sent_ns_ = 0;  // promise of the last batch that repeated the schemas
  uint64_t last_update_ = 0;
  Doing doing_;
  // Last update that is already in the log. Resent updates up to it only restore the pending steps
  // in `series_`.
  uint64_t replayed_until_ = 0;
  // First update with pending data of each unfinished step, by (mode, step).
  std::map<std::pair<std::string, int64_t>, uint64_t> held_;
  bool captures_ = false;
  std::optional<std::string> goodbye_;  // the published reason
  uint64_t dropped_ = 0;
  std::array<uint64_t, steps::kDrops> drops_{};
};

}  // namespace pitwall::collector
