// Safe output of untrusted text to a terminal. No other code writes to stdout or stderr. A label,
// path, or message cannot move the cursor, change the window, or reverse the text.
//
// Escapes C0 and C1 controls, DEL, bidirectional controls, and invalid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace pitwall {

// Returns true if the text contains characters that must be escaped. Names and IDs with such
// characters are rejected.
bool HasControl(std::string_view text);
// Returns the text as one line, with line breaks as \n: "an \x1b[31m alarm", "file\u202egnp".
std::string TerminalLine(std::string_view text);
// Returns the escaped text, but keeps line breaks and expands tabs to spaces.
std::string TerminalText(std::string_view text);
// Returns equivalent JSON with \u escapes.
std::string TerminalJson(std::string_view json);

// Each call performs a single write so that lines from different threads do not interleave.
void Print(std::string_view text);       // writes TerminalText to stdout
void PrintJson(std::string_view json);   // writes TerminalJson to stdout
void PrintError(std::string_view text);  // writes TerminalText to stderr
void FlushOutput();                      // flushes stdout

}  // namespace pitwall
