// Pages of texts that are read without opening their segment, whose footer takes longer to read
// than a page does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/store/segment_footer.h"
#include "services/base/binary.h"
#include "services/base/status.h"

namespace pitwall::history {

// Bytes of equal place together: what numbers have in common is packed, and the rest is copied.
std::string Planes(const std::vector<double>& values);
// False: of no whole number of values.
bool FromPlanes(std::string_view planes, std::vector<double>* values);

// Where a page lies. Without bytes: nowhere.
void SavePage(const store::Page& page, BinaryWriter& out);
store::Page RestorePage(BinaryReader& in);

// `what` the page holds, e.g. "the summary of steps".
Status MalformedPage(const std::string& path, const store::Page& page, std::string_view what);
// The one text of a page. DataLoss for a file that is gone, as for one that is damaged: another may
// have taken its place.
StatusOr<std::string> ReadText(const std::string& path, const store::Page& page,
                               std::string_view what);

}  // namespace pitwall::history
