// Notices for clients that keep their updates until the updates are durable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/collector/publishing/client_cursors.h"

namespace pitwall::collector {

// One boot of one source in a job.
struct SourceBoot {
  std::string job;
  std::string source;
  std::string boot_id;
};

// Reports each durable position to a client once, in ascending order. Not thread-safe.
class WrittenNotices {
 public:
  // Adds a client. `written` is the durable position that the client received in its Welcome.
  void Expect(uint64_t client, SourceBoot boot, uint64_t written);
  // Handles a closed connection. Has no effect if the client does not expect notices.
  void Forget(uint64_t client) { clients_.erase(client); }
  // Returns whether the client expects notices. The result stays true after the client's goodbye
  // until Forget is called.
  bool Expects(uint64_t client) const { return clients_.contains(client); }
  // Appends a serialized CollectorMessage for each client whose position has advanced since the
  // previous call.
  void Take(const ClientCursors& cursors, std::vector<std::pair<uint64_t, std::string>>* messages);

 private:
  struct Expected {
    SourceBoot boot;
    uint64_t reported = 0;
  };
  std::map<uint64_t, Expected> clients_;
  uint64_t version_ = 0;  // version of the cursors at the last Take
};

}  // namespace pitwall::collector
