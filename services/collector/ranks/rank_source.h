// One training process as a source of telemetry.
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

// Text of clients is at most this long.
inline constexpr size_t kMaxClientText = 1024;

// Turns the updates of one boot of one rank into batches. It outlives a lost connection, so that a
// client that comes back goes on with its sequence. With each batch travels a cursor: which updates
// are in the log with it. By it, the collector after a crash takes up the rank where it was: what
// comes again and is in the log makes no second batch. Owned by the socket thread; sender and
// counters are borrowed.
class RankSource {
 public:
  struct Identity {
    std::string job;
    std::string owner;  // of the job
    bool owner_declared = false;
    std::string source;
    std::string boot_id;
    SourceInfo info;
    int64_t world_size = 0;       // 0: not known
    uint64_t first_sequence = 1;  // above 1: another collector may have known it before
    bool resends = false;  // the client keeps its updates, and sends again what is not durable
    std::optional<ClientCursor> known;  // of what a collector before this one made durable
    WatchedProcess process;
    ProcessHome home;  // of its number
  };
  RankSource(Identity identity, BatchSender* sender, Counters* counters);

  // The first word about the source: its promise, and the job's event where the job is new.
  void Announce(std::vector<JobEvent> events);
  // InvalidArgument says what in the update cannot be; nothing of it is sent then.
  Status Update(const client::v1::Update& update);
  // Ends the rank's series. A second call with the same reason does nothing.
  void Goodbye(std::string_view reason);
  // Ends them with a failure: at the time of the goodbye, or at this event time after Goodbye().
  void Failed(int64_t at_ns, std::string_view exception, const ProcessEnd& end);
  // Its process ended without goodbye, at this event time; everything that it said has been sent.
  void Lost(int64_t at_ns, const ProcessEnd& end);
  // After that: the process that started the ranks is gone too.
  void LauncherGone(int64_t at_ns);

  const Identity& identity() const { return identity_; }
  // When its connection closed, in the collector's time; long ago while it is open.
  void NoteClosed(int64_t at_ns) { closed_at_ns_ = at_ns; }
  int64_t closed_at_ns() const { return closed_at_ns_; }
  // The last update that is in here: the client need not send it again to this collector.
  uint64_t received() const { return last_update_; }
  // What it did as of the last update.
  struct Doing {
    std::string phase;
    std::string mode;
    uint64_t step_plus_one = 0;
    std::optional<bool> loop_open;  // empty: it has run no loop
  };
  const Doing& doing() const { return doing_; }
  // This connection's client, of the same boot: a newer version of it may keep its updates.
  void SetResends(bool resends) { identity_.resends = resends; }
  // Whether that client answers a Capture.
  void SetCaptures(bool captures) { captures_ = captures; }
  bool captures() const { return captures_; }

 private:
  Status Check(const client::v1::Update& update) const;
  void Add(const client::v1::Update& update, Batch* batch);
  void CountMissed(const client::v1::Update& update);
  ClientCursor Cursor() const;
  // After it there is nothing more to tell of the rank.
  ClientCursor LastCursor() const;
  void Hold(std::string_view mode, int64_t step);
  Batch Begin();
  void SendEvent(JobEvent event);
  void SendGoodbye(std::string_view reason, std::vector<JobEvent> events);
  // For the collector after this one.
  std::string Known(std::optional<std::string> goodbye) const;
  void AddMode(const std::string& mode);
  void CountDrops();

  int64_t closed_at_ns_ = INT64_MIN / 2;
  Identity identity_;
  BatchSender* const sender_;
  Counters* const counters_;
  steps::StepSeries series_;
  SourceState state_;
  int64_t schemas_sent_ns_ = 0;  // promise of the batch that repeated them last
  uint64_t last_update_ = 0;
  Doing doing_;
  // Updates up to this one are in the log already; those that come again only fill `series_` with
  // what waits for the ends of steps.
  uint64_t replayed_until_ = 0;
  // Steps of which something waits for their end, by (mode, step): the first update that said so.
  std::map<std::pair<std::string, int64_t>, uint64_t> held_;
  bool captures_ = false;
  std::optional<std::string> goodbye_;  // reason that was sent
  uint64_t dropped_ = 0;
  std::array<uint64_t, steps::kDrops> drops_{};
};

}  // namespace pitwall::collector
