// Doubles as text, many of them: an answer for a page has hundreds of thousands.
#pragma once

#include <string>

namespace pitwall {

// Appends what FormatDouble returns, several times as fast for values from 1e-4 to 1e15.
void AppendDouble(double value, std::string* out);

}  // namespace pitwall
