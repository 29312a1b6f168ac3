#include "services/base/terminal.h"

#include <gtest/gtest.h>

#include <random>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

// Checks output independently of the code under test: the output must be valid UTF-8 without code
// points that a terminal interprets.
std::string Fault(std::string_view text, bool line_breaks) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    size_t bytes = 1;
    uint32_t code = lead;
    if (lead >= 0x80) {
      bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
      if (lead < 0xc0 || i + bytes > text.size()) return Cat("byte ", i, " is not UTF-8");
      code = lead & (0x7f >> bytes);
      for (size_t k = 1; k < bytes; ++k)
        code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    }
    const bool control = code < 0x20 || code == 0x7f || (code >= 0x80 && code <= 0x9f);
    const bool bidi = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                      code == 0x200e || code == 0x200f || code == 0x61c;
    if (bidi || (control && !(line_breaks && code == '\n')))
      return Cat("code point ", code, " at byte ", i);
    i += bytes;
  }
  return "";
}

std::string Utf8(uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  if (code < 0x800)
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

TEST(Terminal, EscapesControlSequences) {
  EXPECT_EQ(TerminalLine("\x1b[2J gone"), "\\x1b[2J gone");
  EXPECT_EQ(TerminalLine("a\nb\tc\r\x7f"), "a\\nb\\tc\\x0d\\x7f");
  EXPECT_EQ(TerminalLine(Cat("c1 ", Utf8(0x9b), "31m")), "c1 \\u009b31m");
  EXPECT_EQ(TerminalLine(Cat("bidi ", Utf8(0x202e), Utf8(0x2066), Utf8(0x200f), Utf8(0x61c))),
            "bidi \\u202e\\u2066\\u200f\\u061c");
  EXPECT_EQ(TerminalLine("\x9b\xff cut \xe2\x80"), "\\x9b\\xff cut \\xe2\\x80");
  EXPECT_EQ(TerminalLine("Köln → 東京 𝄞"), "Köln → 東京 𝄞");
  EXPECT_EQ(TerminalText("one\ttab\nand \x08"), "one    tab\nand \\x08");
  EXPECT_EQ(TerminalJson(Cat("{\"a\":\"", Utf8(0x85), Utf8(0x202e), "\x7f\xff\"}\n")),
            "{\"a\":\"\\u0085\\u202e\\u007f\\ufffd\"}\n");
}

TEST(Terminal, EscapesEveryControlCharacter) {
  for (uint32_t code = 0; code < 0x3000; ++code) {
    const std::string text = Utf8(code);
    const bool harmless = Fault(text, false).empty();
    EXPECT_EQ(HasControl(text), !harmless) << code;
    EXPECT_EQ(TerminalLine(text) == text, harmless) << code;
  }
}

TEST(Terminal, EscapesRandomBytes) {
  std::mt19937_64 random(20);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto n = random() % 24; n > 0; --n) {
      switch (random() % 4) {
        case 0:
          text += static_cast<char>(random());
          break;
        case 1:
          text += Utf8(static_cast<uint32_t>(random() % 0xa0));
          break;
        case 2:
          text += Utf8(0x2000 + static_cast<uint32_t>(random() % 0x80));
          break;
        default:
          text += static_cast<char>(' ' + random() % 95);
      }
    }
    EXPECT_EQ(Fault(TerminalLine(text), false), "") << Hex(text);
    EXPECT_EQ(Fault(TerminalText(text), true), "") << Hex(text);
    EXPECT_EQ(Fault(TerminalJson(text), true), "") << Hex(text);
    EXPECT_FALSE(HasControl(TerminalLine(text))) << Hex(text);
  }
}

}  // namespace
}  // namespace pitwall
