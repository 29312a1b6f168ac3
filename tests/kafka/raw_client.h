// Operations that the log never performs, implemented directly with librdkafka: open or aborted
// transactions, deleted records, and topics configured in ways that Pitwall rejects. A failure
// terminates the process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace pitwall::kafka {

class RawTransaction {
 public:
  // Opens a transaction and fences the ID's previous owner.
  explicit RawTransaction(std::string_view transactional_id);
  ~RawTransaction();
  // Sends a record and waits for the broker's acknowledgment.
  void Send(const std::string& topic, int32_t partition, std::string_view value);
  void SendOffset(const std::string& group, const std::string& topic, int32_t partition,
                  int64_t offset);
  void Commit();
  void Abort();
  void Begin();  // opens another transaction after Commit or Abort

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

void MakeTopic(const std::string& topic, int32_t partitions,
               const std::map<std::string, std::string>& config);
void DeleteRecordsBefore(const std::string& topic, int32_t partition, int64_t offset);

}  // namespace pitwall::kafka
