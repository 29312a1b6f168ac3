// Empty list of files, for a build with -DPITWALL_PAGE=OFF.
#include "services/insights/page/page_files.h"

namespace pitwall::insights {

std::span<const PageFile> PageFiles() { return {}; }
std::string_view PagePolicy() { return "default-src 'none'; frame-ancestors 'none'"; }

}  // namespace pitwall::insights
