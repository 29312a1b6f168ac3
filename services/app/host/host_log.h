// Log for one process, either embedded or Kafka.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/app/config/config.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// Owner of the log. Open is called once; Health may be called from any thread afterward.
class HostLog {
 public:
  // Opens the configured log. `service` is part of the client ID. Both pointers are borrowed.
  Status Open(const Config& config, std::string_view service, Clock* clock,
              self_metrics::Exposition* exposition);
  // Returns the log. Requires that Open has succeeded.
  Log* get() const { return log_.get(); }
  // Returns an error if the embedded log has corruption that was not repaired at startup, or
  // partitions that cannot be flushed.
  Status Health() const;

 private:
  std::unique_ptr<Log> log_;
  log::EmbeddedLog* embedded_log_ = nullptr;  // log_ if the log is embedded, otherwise null
  std::string data_dir_;                      // directory that contains the embedded log
};

}  // namespace pitwall
