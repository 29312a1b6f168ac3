// Pages of text that are read without opening their segment, whose footer takes longer to read than
// a page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/store/segment_footer.h"
#include "services/base/binary.h"
#include "services/base/status.h"

namespace pitwall::history {

// Groups bytes by position: common bytes compress, the rest is copied.
std::string Planes(const std::vector<double>& values);
// False: the size is not a multiple of a value's.
bool FromPlanes(std::string_view planes, std::vector<double>* values);

// Location of a page; zero bytes: none.
void SavePage(const store::Page& page, BinaryWriter& out);
store::Page RestorePage(BinaryReader& in);

// `what`: content of the page, e.g. "the summary of steps".
Status MalformedPage(const std::string& path, const store::Page& page, std::string_view what);
// Returns the single text of a page. DataLoss for a missing file, as for a damaged one: another
// file may have replaced it.
StatusOr<std::string> ReadText(const std::string& path, const store::Page& page,
                               std::string_view what);

}  // namespace pitwall::history
