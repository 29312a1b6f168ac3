#include "services/model/windows/demand.h"

#include "services/base/text/strings.h"

namespace pitwall {

std::string Demand::WindowKey(const Selector& s) const {
  return Cat(s.Key(), "|", static_cast<int>(kind), "|", range, "|", offset, "|", interval, "|",
             lookback, "|", align_job ? "job" : "epoch", skip > 0 ? Cat("|", skip) : "");
}

std::string Demand::Key(const Selector& s) const {
  return Cat(WindowKey(s), "|", static_cast<int>(function), "|", arguments);
}

}  // namespace pitwall
