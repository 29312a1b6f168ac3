#include "services/codec/quiet_protobuf.h"

#include <google/protobuf/stubs/logging.h>

#include <mutex>
#include <string>

#include "services/base/log.h"

namespace pitwall::codec {

void QuietProtobuf() {
  static std::once_flag once;
  std::call_once(once, [] {
    google::protobuf::SetLogHandler(
        [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
          PITWALL_LOG(kDebug, "protobuf", message);
        });
  });
}

}  // namespace pitwall::codec
