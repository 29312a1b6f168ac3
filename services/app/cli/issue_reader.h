// Reader for issues, rule statuses, and job changes, for the command line. It reads from the gRPC
// server of a running system, or from the log (a data directory or Kafka) of a running or stopped
// system.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "services/adapters/grpc/issue_client.h"
#include "services/app/command/flags.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/issue_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"
#include "services/model/issues/notification.h"

namespace pitwall {

// Returns the options that OpenIssueClient uses: --target, the token, and TLS.
std::vector<FlagSpec> TargetFlags();
// Returns the options that IssueReader::Open uses: TargetFlags() and LogInputFlags().
std::vector<FlagSpec> InputFlags();

// Connects to the server specified by --target.
StatusOr<std::unique_ptr<grpc_adapter::IssueClient>> OpenIssueClient(const Flags& flags);

class IssueReader {
 public:
  using TakeEvent = std::function<void(const IssueEventPtr&)>;

  // Opens the log if the options specify a log, and otherwise connects to the gRPC server. `clock`
  // must outlive the reader.
  static StatusOr<std::unique_ptr<IssueReader>> Open(const Flags& flags, Clock* clock);
  virtual ~IssueReader() = default;

  // Returns the last event of each matching issue. Issues are sorted by start time, newest first.
  virtual StatusOr<std::vector<IssueEventPtr>> List(const IssueFilter& filter, bool all) = 0;
  // Returns the issues from the last List call that are currently silenced.
  const std::vector<SilencedIssue>& silenced() const { return silenced_; }
  // See IssueSource::GetIssue.
  virtual StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) = 0;
  // Calls `take` with every matching event that the topic currently contains, in order within each
  // partition.
  virtual Status ForEach(const IssueFilter& filter, const TakeEvent& take) = 0;
  // Returns the decisions about the event's issue and the parameter changes of its rule, oldest
  // first. Returns Unimplemented if the source does not serve actions.
  virtual StatusOr<std::vector<ActionEvent>> Actions(const IssueEvent& issue) = 0;
  // Returns an issue's notifications, without duplicates. Returns Unimplemented if the source does
  // not serve notifications.
  virtual StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view issue) = 0;
  // Returns the captures for a request, or the captures triggered by an issue. The unused argument
  // must be empty. Returns Unimplemented if the source does not serve captures.
  virtual StatusOr<std::vector<RankCapture>> Captures(std::string_view request,
                                                      std::string_view issue) = 0;

 protected:
  std::vector<SilencedIssue> silenced_;
};

}  // namespace pitwall
