// The files of the page as the build embeds them.
#pragma once

#include <span>
#include <string_view>

namespace pitwall::history {

struct PageFile {
  std::string_view path;  // "/index.html", "/assets/index-<hash>.js"
  std::string_view type;
  std::string_view tag;  // entity tag of the plain bytes, with its quotes
  std::string_view plain;
  std::string_view gzip;    // "": none
  std::string_view brotli;  // "": none
};

// Empty: this binary was built without the page.
std::span<const PageFile> PageFiles();
// The Content-Security-Policy of every answer.
std::string_view PagePolicy();

}  // namespace pitwall::history
