// Kafka committer, based on a transactional producer. Private to this module.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "services/adapters/kafka/client.h"
#include "services/adapters/kafka/topics.h"

namespace pitwall::kafka {

class KafkaCommitter final : public Committer {
 public:
  // Fences older committers with this ID and completes or aborts their open transactions. Borrows
  // `options`, `clock`, and `topics`.
  static StatusOr<std::unique_ptr<KafkaCommitter>> Open(const KafkaLogOptions& options,
                                                        Clock* clock, Topics* topics,
                                                        std::string_view transactional_id);
  Status Apply(const Commit& commit) override;

 private:
  KafkaCommitter(const KafkaLogOptions& options, Clock* clock, Topics* topics, std::string_view id)
      : options_(options), clock_(clock), topics_(topics), id_(id) {}

  Status Check(const Commit& commit);
  Status Send(const Commit& commit, int64_t deadline);
  Status SendOffset(const Commit& commit, int64_t deadline);
  Status Finish(int64_t deadline);
  // Aborts the open transaction. If that fails, the next Apply retries it first.
  Status Abort(int64_t deadline);
  // Returns the error for a failed transactional call. A fatal error makes this committer unusable.
  Status Judge(const rd_kafka_error_t* error, std::string_view step);
  Status End(std::string_view why);
  int64_t Left(int64_t deadline) const;

  const KafkaLogOptions& options_;
  Clock* const clock_;
  Topics* const topics_;
  const std::string id_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<MetTopics> met_;
  bool must_abort_ = false;
  Status ended_;     // permanent error: fenced, or unknown outcome
  Status rejected_;  // first rejected record in this transaction
};

}  // namespace pitwall::kafka
