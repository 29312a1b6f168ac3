// Empty list of files, for builds with -DPITWALL_PAGE=OFF.
#include "services/web/page_files.h"

namespace pitwall::history {

std::span<const PageFile> PageFiles() { return {}; }
std::string_view PagePolicy() { return "default-src 'none'; frame-ancestors 'none'"; }

}  // namespace pitwall::history
