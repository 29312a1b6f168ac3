#include "services/collector/clients/written_notices.h"

#include "pitwall/client/v1/client.pb.h"

namespace pitwall::collector {

void WrittenNotices::Expect(uint64_t client, SourceBoot boot, uint64_t written) {
  clients_[client] = {std::move(boot), written};
}

void WrittenNotices::Take(const ClientCursors& cursors,
                          std::vector<std::pair<uint64_t, std::string>>* messages) {
  const uint64_t version = cursors.version();
  if (version == version_) return;
  version_ = version;
  for (auto& [client, expected] : clients_) {
    const SourceBoot& boot = expected.boot;
    const auto cursor = cursors.Find(boot.job, boot.source, boot.boot_id);
    if (!cursor.has_value() || cursor->written <= expected.reported) continue;
    expected.reported = cursor->written;
    client::v1::CollectorMessage message;
    message.mutable_written()->set_sequence(cursor->written);
    messages->emplace_back(client, message.SerializeAsString());
  }
}

}  // namespace pitwall::collector
