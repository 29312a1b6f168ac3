// Reader of issues, rule statuses, and changes of jobs for the command line: from the gRPC server
// of a running system, or from the log (a data directory or Kafka) of a running or stopped one.
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

// Returns the options of OpenIssueClient: --target, the token, and TLS.
std::vector<FlagSpec> TargetFlags();
// Returns the options of IssueReader::Open: TargetFlags() and LogInputFlags().
std::vector<FlagSpec> InputFlags();

// Connects to --target.
StatusOr<std::unique_ptr<grpc_adapter::IssueClient>> OpenIssueClient(const Flags& flags);

class IssueReader {
 public:
  using TakeEvent = std::function<void(const IssueEventPtr&)>;

  // Opens the log if the options name one, otherwise the gRPC server. `clock` must outlive the
  // reader.
  static StatusOr<std::unique_ptr<IssueReader>> Open(const Flags& flags, Clock* clock);
  virtual ~IssueReader() = default;

  // Returns the last event of each issue that matches. The issue that began last comes first.
  virtual StatusOr<std::vector<IssueEventPtr>> List(const IssueFilter& filter, bool all) = 0;
  // Returns the issues of the last List that are silenced now.
  const std::vector<SilencedIssue>& silenced() const { return silenced_; }
  // See IssueSource::GetIssue.
  virtual StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) = 0;
  // Passes every matching event that is in the topic now, in the order of each partition.
  virtual Status ForEach(const IssueFilter& filter, const TakeEvent& take) = 0;
  // Returns the decisions about the issue of an event and the changes of its rule's parameters,
  // oldest first. Returns Unimplemented if the source has no actions.
  virtual StatusOr<std::vector<ActionEvent>> Actions(const IssueEvent& issue) = 0;
  // Returns the notifications of an issue, each once. Returns Unimplemented if the source has none.
  virtual StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view issue) = 0;
  // Returns the captures of a request, or those that an issue requested. The other argument is "".
  // Returns Unimplemented if the source has no captures.
  virtual StatusOr<std::vector<RankCapture>> Captures(std::string_view request,
                                                      std::string_view issue) = 0;

 protected:
  std::vector<SilencedIssue> silenced_;
};

}  // namespace pitwall
