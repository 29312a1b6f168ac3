// Text from elsewhere on its way to a terminal. The one place that writes to stdout and stderr: a
// label, a path or a message never moves the cursor, changes the window or turns the direction of
// the text around.
//
// Escaped are C0 and C1 controls, DEL, the controls of bidirectional text and bytes that are not
// UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

// Whether a text has something that would be escaped. Names and ids with such are refused.
bool HasControl(std::string_view text);
// "an \x1b[31m alarm", "file\u202egnp": one line, in which a line break is \n.
std::string TerminalLine(std::string_view text);
// The same, but line breaks stay and tabs become spaces.
std::string TerminalText(std::string_view text);
// JSON that says the same, with \u escapes.
std::string TerminalJson(std::string_view json);

// Each call is one write, so that lines of different threads do not mix.
void Print(std::string_view text);       // TerminalText on stdout
void PrintJson(std::string_view json);   // TerminalJson on stdout
void PrintError(std::string_view text);  // TerminalText on stderr
void FlushOutput();                      // of stdout

}  // namespace pitwall
