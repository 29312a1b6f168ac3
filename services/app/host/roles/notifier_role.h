// Notifier in this process with its transports, the capture coordinator, and the gRPC server.
#pragma once

#include <memory>
#include <string>

#include "services/adapters/grpc/issue_server.h"
#include "services/app/config/config.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/io/mail_transport.h"
#include "services/notifier/capture_coordinator.h"
#include "services/notifier/notifier.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Start and Stop must be called on one thread. Other functions may be called from any thread after
// Start. All pointers are borrowed.
class NotifierRole {
 public:
  NotifierRole(Clock* clock, Log* log, self_metrics::Exposition* exposition)
      : clock_(clock), log_(log), exposition_(exposition) {}

  Status Start(const Config& config);
  // Sets the serving state that gRPC health checks return. Does nothing without a server.
  void SetServing(bool serving);
  void Stop();

  const notifier::Notifier& notifier() const { return *notifier_; }
  notifier::Notifier& notifier() { return *notifier_; }
  notifier::CaptureCoordinator* captures() const { return captures_.get(); }

 private:
  Status StartGrpc(const Config& config);

  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  std::unique_ptr<HttpTransport> transport_;
  std::unique_ptr<MailTransport> mail_;
  std::unique_ptr<notifier::Notifier> notifier_;
  std::unique_ptr<notifier::CaptureCoordinator> captures_;
  std::unique_ptr<grpc_adapter::IssueServer> grpc_;
};

}  // namespace pitwall
