#include "services/codec/imports/gunzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "services/base/text/strings.h"

namespace pitwall::imports {
namespace {

std::string Gzip(std::string_view text) {
  z_stream zlib{};
  EXPECT_EQ(deflateInit2(&zlib, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string in(text), out(compressBound(text.size()) + 64, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(in.data());
  zlib.avail_in = static_cast<uInt>(in.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - zlib.avail_out);
  deflateEnd(&zlib);
  return out;
}

// Returns the decompressed data, or the error.
std::string Read(std::string_view bytes, size_t piece) {
  std::string out;
  Gunzip gunzip("t.gz", [&](std::string_view text) {
    out += text;
    return OkStatus();
  });
  Status done;
  for (size_t at = 0; at < bytes.size() && done.ok(); at += piece)
    done = gunzip.Feed(bytes.substr(at, piece));
  if (done.ok()) done = gunzip.Finish();
  return done.ok() ? out : Cat("error: ", ToStd(done.message()));
}

TEST(Gunzip, DecompressesPiecesOfAnySize) {
  // The decompressed size is an exact multiple of the piece size, and much larger than the
  // compressed size.
  const std::string text(size_t{1} << 20, 'x');
  const std::string packed = Gzip(text) + Gzip("") + Gzip("end");
  for (const size_t piece : {size_t{1}, size_t{7}, packed.size()}) {
    SCOPED_TRACE(piece);
    EXPECT_EQ(Read(packed, piece), text + "end");
  }
}

TEST(Gunzip, PassesOtherInputThroughUnchanged) {
  for (const std::string_view text : {"", "x", "[{}]", "\x1f", "\x1fno"}) {
    EXPECT_EQ(Read(text, 1), text);
    EXPECT_EQ(Read(text, 100), text);
  }
}

TEST(Gunzip, TruncatedInput_DataBeforeTruncationIsRead) {
  const std::string packed = Gzip("first ") + Gzip("second");
  for (size_t cut = 2; cut < packed.size(); ++cut)
    EXPECT_TRUE(StartsWith("first second", Read(std::string_view(packed).substr(0, cut), 3)))
        << cut;
  EXPECT_EQ(Read(std::string_view(packed).substr(0, packed.size() - 8), 3), "first second");
}

TEST(Gunzip, TruncatedInput_TruncationIsReported) {
  const auto is_cut = [](std::string_view bytes) {
    Gunzip gunzip("t.gz", [](std::string_view) { return OkStatus(); });
    EXPECT_TRUE(gunzip.Feed(bytes).ok());
    EXPECT_TRUE(gunzip.Finish().ok());
    return gunzip.cut();
  };
  const std::string packed = Gzip("some text");
  EXPECT_TRUE(is_cut(std::string_view(packed).substr(0, packed.size() - 8)));
  for (const std::string& whole : {packed, packed + packed, packed + "tail", std::string("text")})
    EXPECT_FALSE(is_cut(whole));
}

TEST(Gunzip, BytesAfterLastMember_AreSkipped) {
  const std::string packed = Gzip("some text");
  for (const std::string& tail : {std::string(512, '\0'), std::string("tail"), Gzip("x").substr(1)})
    for (const size_t piece : {1, 100}) EXPECT_EQ(Read(packed + tail, piece), "some text");
}

TEST(Gunzip, CorruptInput_ReturnsError) {
  const std::string packed = Gzip("some text that is packed");
  std::string damaged = packed;
  // The flipped byte is part of the checksum.
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 1);
  EXPECT_THAT(
      Read(damaged, 100),
      ::testing::Eq(
          "error: t.gz: corrupt gzip data after 24 uncompressed bytes: incorrect data check"));
}

}  // namespace
}  // namespace pitwall::imports
