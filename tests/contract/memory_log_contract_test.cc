// Runs the contract tests against the in-memory fake. The real logs must pass the same tests.
#include <memory>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "tests/contract/log_contract.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::contract {
namespace {

class MemoryUnderTest final : public LogUnderTest {
 public:
  Status Open() override { return OkStatus(); }
  Log* log() override { return &log_; }
  Status Restart() override { return OkStatus(); }  // keeps all data until its destruction
  std::string UniqueTopic(std::string_view hint) override { return Cat(hint, "-", ++topics_); }

 private:
  clock::SystemClock clock_;
  fakes::MemoryLog log_{&clock_};
  int topics_ = 0;
};

PITWALL_INSTANTIATE_LOG_CONTRACT(
    Memory, (LogContractParam{"Memory", [] { return std::make_unique<MemoryUnderTest>(); }}));

}  // namespace
}  // namespace pitwall::contract
