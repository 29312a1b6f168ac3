// Client sessions. They implement the protocol in proto/pitwall/client/v1, without the socket.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pitwall/client/v1/client.pb.h"
#include "services/base/status.h"
#include "services/collector/capture/node_captures.h"
#include "services/collector/clients/written_notices.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/metrics/refusal.h"
#include "services/collector/processes/peer_process.h"
#include "services/collector/processes/process_watch.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/node_announcer.h"
#include "services/collector/ranks/launch_watch.h"
#include "services/collector/ranks/leaving_ranks.h"
#include "services/collector/ranks/rank_ends.h"
#include "services/collector/ranks/rank_source.h"
#include "services/collector/ranks/retained_ranks.h"
#include "services/collector/readers/monotonic_event_clock.h"

namespace pitwall::collector {

// Maximum number of spans, values, labels, and step promises in a message, in total.
inline constexpr size_t kMaxClientParts = 32 * 1024;

struct SessionsOptions {
  std::string node;
  std::string root = "/";
  int64_t join_slack_ns = 0;
  size_t max_retained = 256;  // disconnected sources that may reconnect
};

// Owned and called by the socket thread (or a test). The caller owns all arguments. `announcer` may
// be null.
class ClientSessions {
 public:
  ClientSessions(const SessionsOptions& options, JobRegistry* bindings, BatchSender* sender,
                 NodeAnnouncer* announcer, const MonotonicEventClock& time, const Clock& clock,
                 Counters* counters);

  // Sets the captures for the ranks on this node. Null disables captures. The caller owns
  // `captures`. Must be called before any client connects.
  void SetCaptures(NodeCaptures* captures) {
    captures_ = captures;
    ends_.SetCaptures(captures);
  }
  // Sets a callback that is called for each rank that sends a hello. The callback runs on the
  // socket thread after the rank's job is announced. Must be called before any client connects.
  void OnRank(std::function<void(const RankSource::Identity&, int64_t pid)> callback) {
    on_rank_ = std::move(callback);
  }
  // Resumes tracking the previous collector's ranks and reports those whose process has ended. Must
  // be called before any client connects.
  void TakeUpKnown();

  struct Answer {
    std::string bytes;   // a CollectorMessage to send back; may be empty
    bool close = false;  // the client has finished
  };
  // Handles one ClientMessage from a connection. After an error, the connection must be closed; the
  // error message contains the reason.
  StatusOr<Answer> Handle(uint64_t client, const Peer& peer, std::string_view bytes);
  // Handles the loss of a connection, even if no hello was received on it.
  void Closed(uint64_t client);

  // News returns (client, message) pairs for updates that have become durable since the previous
  // call. OnNews sets a callback that may run on any thread and is called when there may be new
  // messages.
  std::vector<std::pair<uint64_t, std::string>> News();
  void OnNews(std::function<void()> call);
  // Returns connected clients whose process has ended while another process holds the connection
  // open. The caller must read their remaining data and then close the connections.
  std::vector<uint64_t> Departed();
  // Checks disconnected processes and launchers.
  void Patrol();
  // Returns the interval at which Departed and Patrol must be called.
  int PatrolMs() const;

 private:
  StatusOr<Answer> OnAskCapture(const Peer& peer, const client::v1::AskCapture& ask);
  std::vector<CaptureRank> RanksOf(const CaptureRequest& request) const;
  StatusOr<Answer> OnHello(uint64_t client, const Peer& peer, const client::v1::Hello& hello);
  std::unique_ptr<RankSource> NewSource(const SourceBoot& boot, const JobRegistry::Claimed& claimed,
                                        const client::v1::Hello& hello, const Peer& peer);
  std::unique_ptr<RankSource> TakeBack(const SourceBoot& boot, std::string_view owner);
  // Forgets a client whose job has been declared for another owner.
  Status Displaced(uint64_t client);
  void ForgetOtherBoots(const SourceBoot& boot);
  void OnGoodbye(uint64_t client, const client::v1::Goodbye& goodbye);
  bool HasRank(const std::string& job) const;

  const SessionsOptions options_;
  JobRegistry* const bindings_;
  BatchSender* const sender_;
  NodeAnnouncer* const announcer_;
  const MonotonicEventClock& time_;
  const Clock& clock_;
  Counters* const counters_;
  NodeCaptures* captures_ = nullptr;
  alignas(8) std::array<char, 16u << 10> block_;  // initial arena block for the current message
  std::map<uint64_t, std::unique_ptr<RankSource>> sources_;
  RetainedRanks retained_;
  LeavingRanks leaving_;
  WrittenNotices notices_;
  const ProcessHome home_;
  std::function<void(const RankSource::Identity&, int64_t pid)> on_rank_;
  ProcessWatch processes_;
  LaunchWatch launches_;
  RankEnds ends_;
  int64_t closed_at_ns_ =
      INT64_MIN / 2;  // time at which a running process last lost its connection
};

}  // namespace pitwall::collector
