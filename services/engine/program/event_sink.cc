#include "services/engine/program/event_sink.h"

#include <utility>

namespace pitwall::engine {

void EventSink::AddDeadLetter(std::string_view key, std::string_view value, std::string reason,
                              LogOffset offset) {
  if (!dead_letters.empty() && dead_letters.back().offset == offset) return;
  dead_letters.push_back({std::string(key), std::string(value.substr(0, kMaxDeadLetterBytes)),
                          std::move(reason), offset, value.size()});
}

}  // namespace pitwall::engine
