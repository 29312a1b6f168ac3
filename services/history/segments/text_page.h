// Text pages that can be read without opening their segment, because reading the segment's footer
// takes longer than reading a page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/store/segment_footer.h"
#include "services/base/binary.h"
#include "services/base/status.h"

namespace pitwall::history {

// Groups the bytes of the values by position within a value. Positions with repetitive bytes are
// compressed; the other positions are copied.
std::string Planes(const std::vector<double>& values);
// Reverses Planes. Returns false if the size is not a multiple of the value size.
bool FromPlanes(std::string_view planes, std::vector<double>* values);

// Saves the location of a page. A location with zero bytes means that the page is absent.
void SavePage(const store::Page& page, BinaryWriter& out);
store::Page RestorePage(BinaryReader& in);

// `what` is the content of the page, for example "step summary".
Status MalformedPage(const std::string& path, const store::Page& page, std::string_view what);
// Returns the single text value of a page. A missing file is reported as DataLoss, like a damaged
// file, because another file may have replaced it.
StatusOr<std::string> ReadText(const std::string& path, const store::Page& page,
                               std::string_view what);

}  // namespace pitwall::history
