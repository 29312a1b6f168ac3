// Runs the contract tests against the embedded log in three configurations.
#include <stdlib.h>

#include <memory>
#include <string>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/files/file.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/contract/log_contract.h"

namespace pitwall::contract {
namespace {

class EmbeddedUnderTest final : public LogUnderTest {
 public:
  explicit EmbeddedUnderTest(log::EmbeddedLogOptions options) : options_(std::move(options)) {
    std::string dir = Cat(::testing::TempDir(), "/pitwall_contract_XXXXXX");
    EXPECT_NE(::mkdtemp(dir.data()), nullptr) << dir;
    options_.dir = dir;
  }
  ~EmbeddedUnderTest() override {
    log_.reset();
    EXPECT_TRUE(files::RemoveTree(options_.dir).ok());
  }

  Status Open() override {
    ASSIGN_OR_RETURN(log_, log::OpenEmbeddedLog(options_, &clock_));
    return OkStatus();
  }
  Log* log() override { return log_.get(); }
  Status Restart() override {
    log_.reset();
    return Open();
  }
  // Each test has its own directory.
  std::string UniqueTopic(std::string_view hint) override { return Cat(hint, ".", ++topics_); }
  Duration silence() const override { return Duration::Millis(1); }
  size_t largest_value() const override { return options_.max_record_bytes - 1; }

 private:
  clock::SystemClock clock_;
  log::EmbeddedLogOptions options_;
  std::unique_ptr<log::EmbeddedLog> log_;
  int topics_ = 0;
};

LogContractParam Param(std::string name, log::EmbeddedLogOptions options) {
  return {std::move(name), [options] { return std::make_unique<EmbeddedUnderTest>(options); }};
}

// This configuration seals a segment at each commit and writes a checkpoint every few commits.
log::EmbeddedLogOptions Tiny() {
  log::EmbeddedLogOptions options;
  options.fsync = log::FsyncPolicy::kAlways;
  options.segment_bytes = 1;
  options.checkpoint_bytes = 200;
  return options;
}

log::EmbeddedLogOptions Plain() {
  log::EmbeddedLogOptions options;
  options.fsync = log::FsyncPolicy::kNever;
  options.compress = false;
  options.background = false;
  return options;
}

}  // namespace

PITWALL_INSTANTIATE_LOG_CONTRACT(Embedded, Param("Default", {}));
PITWALL_INSTANTIATE_LOG_CONTRACT(EmbeddedTiny, Param("TinySegments", Tiny()));
PITWALL_INSTANTIATE_LOG_CONTRACT(EmbeddedPlain, Param("NeverFlushed", Plain()));

}  // namespace pitwall::contract
