// Appender that creates the topics before it appends the first record, because topics created
// automatically by the broker would have the wrong settings.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/io/io.h"
#include "services/processor/processor.h"

namespace pitwall {

class TopicCreatingAppender final : public Appender {
 public:
  // `log` must outlive the appender.
  TopicCreatingAppender(Log* log, processor::ProcessorOptions options,
                        std::unique_ptr<Appender> inner)
      : log_(log), options_(std::move(options)), inner_(std::move(inner)) {}

  Status Append(std::vector<OutgoingRecord> records) override {
    if (!ensured_) {
      // Returns every error as Unavailable. Even for valid records, the broker may return
      // InvalidArgument (because of the replication factor or a policy). The publisher would drop
      // the records on any code other than Unavailable.
      if (Status status = processor::EnsureTopics(log_, options_); !status.ok())
        return Unavailable(Cat("topics: cannot be created (", ToStd(status.message()), ")"));
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
