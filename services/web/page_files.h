// Page files, embedded by the build.
#pragma once

#include <span>
#include <string_view>

namespace pitwall::history {

struct PageFile {
  std::string_view path;  // "/index.html", "/assets/index-<hash>.js"
  std::string_view type;
  std::string_view tag;  // entity tag of the plain bytes, with its quotes
  std::string_view plain;
  std::string_view gzip;    // "" if the file has no gzip form
  std::string_view brotli;  // "" if not available
};

// Returns the files, or an empty result if the binary was built without the page.
std::span<const PageFile> PageFiles();
// Returns the Content-Security-Policy for every response.
std::string_view PagePolicy();

}  // namespace pitwall::history
