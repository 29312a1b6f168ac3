#include "services/history/segments/text_page.h"

#include <cstring>
#include <utility>

#include "services/adapters/store/segment_reader.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

std::string Planes(const std::vector<double>& values) {
  std::string out(values.size() * sizeof(double), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof(bits));
    for (size_t plane = 0; plane < sizeof(bits); ++plane)
      out[plane * values.size() + i] = static_cast<char>(bits >> (8 * plane));
  }
  return out;
}

bool FromPlanes(std::string_view planes, std::vector<double>* values) {
  if (planes.size() % sizeof(double) != 0) return false;
  const size_t count = planes.size() / sizeof(double);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(planes.data());
  values->resize(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    for (size_t plane = 0; plane < sizeof(bits); ++plane)
      bits |= uint64_t{bytes[plane * count + i]} << (8 * plane);
    std::memcpy(&(*values)[i], &bits, sizeof(bits));
  }
  return true;
}

void SavePage(const store::Page& page, BinaryWriter& out) {
  out.U64(page.offset);
  out.U64(page.bytes);
  out.U64(page.crc);
}

store::Page RestorePage(BinaryReader& in) {
  store::Page page;
  page.offset = in.U64();
  const uint64_t bytes = in.U64();
  page.crc = static_cast<uint32_t>(in.U64());
  if (bytes > store::kMaxPageBytes) {
    in.Fail();
  } else {
    page.bytes = static_cast<uint32_t>(bytes);
  }
  return page;
}

Status MalformedPage(const std::string& path, const store::Page& page, std::string_view what) {
  return DataLoss(Cat(path, ": ", what, " at ", page.offset,
                      " is malformed; restore the file or delete the job"));
}

StatusOr<std::string> ReadText(const std::string& path, const store::Page& page,
                               std::string_view what) {
  auto texts = store::SegmentReader::ReadTextPage(path, page);
  if (absl::IsNotFound(texts.status())) return DataLoss(Cat(path, ": missing"));
  RETURN_IF_ERROR(texts.status());
  if (texts->size() != 1) return MalformedPage(path, page, what);
  return std::move(texts->front());
}

}  // namespace pitwall::history
