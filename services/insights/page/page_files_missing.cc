// Of a binary that was built without the page.
#include "services/insights/page/page_files.h"

namespace pitwall::insights {

std::span<const PageFile> PageFiles() { return {}; }
std::string_view PagePolicy() { return "default-src 'none'; frame-ancestors 'none'"; }

}  // namespace pitwall::insights
