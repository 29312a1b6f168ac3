// Notifier in this process with its transports, the capture coordinator, and the gRPC server.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "services/adapters/grpc/issue_server.h"
#include "services/app/config/config.h"
#include "services/app/host/service.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/capture_source.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/io/mail_transport.h"
#include "services/notifier/capture_coordinator.h"
#include "services/notifier/notifier.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// All pointers are borrowed.
class NotifierRole final : public Service {
 public:
  NotifierRole(Clock* clock, Log* log, self_metrics::Exposition* exposition)
      : clock_(clock), log_(log), exposition_(exposition), captures_(clock, log, {}, exposition) {}

  std::string_view name() const override { return "notifier"; }
  Status Start(const Config& config) override;
  void Stop() override;
  Status Health() const override { return notifier_->Health(); }
  Status Ready() const override;
  // Sets the serving state that gRPC health checks return.
  void SetServing(bool serving) override;
  // Returns the routes of /metrics/issues and of the silences.
  StatusOr<std::vector<http::HttpRoute>> Routes(const Config& config,
                                                http::HttpServerOptions* server) override;

  // Returns the captures, which accept requests after Start. Valid until the role is destroyed.
  CaptureSource* captures() { return &captures_; }

 private:
  Status StartGrpc(const Config& config);

  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  std::unique_ptr<HttpTransport> transport_;
  std::unique_ptr<MailTransport> mail_;
  std::unique_ptr<notifier::Notifier> notifier_;
  notifier::CaptureCoordinator captures_;
  std::unique_ptr<grpc_adapter::IssueServer> grpc_;
};

}  // namespace pitwall
