#include "services/collector/readers/system/system_readers.h"

namespace pitwall::collector {

std::vector<std::unique_ptr<SeriesReader>> NewSystemReaders(const SystemContext& context) {
  std::vector<std::unique_ptr<SeriesReader>> readers;
#define PITWALL_SYSTEM_READER(name, factory) readers.push_back(factory(context));
#include "services/collector/readers/system/system_readers.inc"
  return readers;
}

}  // namespace pitwall::collector
