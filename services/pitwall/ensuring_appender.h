// An appender that makes the topics before its first record goes out: a broker that makes them
// itself gives them the wrong settings.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/io/io.h"
#include "services/processor/processor.h"

namespace pitwall {

class EnsuringAppender final : public Appender {
 public:
  // `log` is borrowed.
  EnsuringAppender(Log* log, processor::ProcessorOptions options, std::unique_ptr<Appender> inner)
      : log_(log), options_(std::move(options)), inner_(std::move(inner)) {}

  Status Append(std::vector<OutgoingRecord> records) override {
    if (!ensured_) {
      // No record is to blame, whatever the broker calls it (it answers InvalidArgument to a
      // replication factor or a policy): with another code the publisher would drop records.
      if (Status status = processor::EnsureTopics(log_, options_); !status.ok())
        return Unavailable(Cat("topics cannot be made: ", ToStd(status.message())));
      ensured_ = true;
    }
    return inner_->Append(std::move(records));
  }

 private:
  Log* const log_;
  const processor::ProcessorOptions options_;
  const std::unique_ptr<Appender> inner_;
  std::atomic<bool> ensured_{false};
};

}  // namespace pitwall
