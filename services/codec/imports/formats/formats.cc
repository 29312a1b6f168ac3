#include "services/codec/imports/formats/formats.h"

#include <algorithm>

namespace pitwall::imports {

const std::vector<Format>& Formats() {
  static const std::vector<Format> formats = {
#define PITWALL_IMPORT_FORMAT(name, function) function(),
#include "services/codec/imports/formats/formats.inc"
  };
  return formats;
}

const Format* FindFormat(std::string_view name) {
  const auto found = std::find_if(Formats().begin(), Formats().end(),
                                  [name](const Format& format) { return format.name == name; });
  return found == Formats().end() ? nullptr : &*found;
}

}  // namespace pitwall::imports
