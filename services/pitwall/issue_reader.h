// Issues, statuses and changes of jobs as the commands for people read them: from a running
// system's gRPC server, or from the log itself (a data directory, Kafka), running or not.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "services/adapters/grpc/issue_client.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/issue_source.h"
#include "services/model/issues/action.h"
#include "services/model/issues/capture.h"
#include "services/model/issues/told.h"
#include "services/pitwall/flags.h"

namespace pitwall {

// The flags that say where to read.
std::vector<FlagSpec> InputFlags();

// Of --target and what belongs to it.
StatusOr<std::unique_ptr<grpc_adapter::IssueClient>> OpenIssueClient(const Flags& flags);

class IssueReader {
 public:
  using TakeEvent = std::function<void(const IssueEventPtr&)>;

  // The log when the flags name one, else the gRPC server. `clock` is borrowed.
  static StatusOr<std::unique_ptr<IssueReader>> Open(const Flags& flags, Clock* clock);
  virtual ~IssueReader() = default;

  // The last event of each issue that matches, the one that began last first.
  virtual StatusOr<std::vector<IssueEventPtr>> List(const IssueFilter& filter, bool all) = 0;
  // Those of the last List that are silenced now.
  const std::vector<SilencedIssue>& silenced() const { return silenced_; }
  // As IssueSource::GetIssue.
  virtual StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) = 0;
  // Every event that matches and is in the topic now, in the order of each partition.
  virtual Status ForEach(const IssueFilter& filter, const TakeEvent& take) = 0;
  // What was decided about the issue of an event, and changes of its rule's parameters, oldest
  // first. Unimplemented: this way does not lead there.
  virtual StatusOr<std::vector<ActionEvent>> Actions(const IssueEvent& issue) = 0;
  // Who was told of an issue, each notice once. Unimplemented: this way does not lead there.
  virtual StatusOr<std::vector<ToldNotice>> Told(std::string_view issue) = 0;
  // The answers to a request for a capture, or those that an issue asked for; the other is "".
  // Unimplemented: this way does not lead there.
  virtual StatusOr<std::vector<RankCapture>> Captures(std::string_view request,
                                                      std::string_view issue) = 0;

 protected:
  std::vector<SilencedIssue> silenced_;
};

}  // namespace pitwall
