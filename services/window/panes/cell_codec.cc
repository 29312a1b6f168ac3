#include "services/window/panes/cell_codec.h"

#include <bit>
#include <utility>

#include "services/base/check.h"

namespace pitwall::window {
namespace {

// Flags in the first byte of a code.
constexpr uint8_t kHasBlanks = 1;  // a mask of the cells that are not blank follows
constexpr uint8_t kRaw = 2;        // cells are stored as 8 bytes each, because that is shorter
// Without kRaw, the cells are stored as words. A word is either a run of zeros, or the bytes
// between leading and trailing zero bytes, preceded by a byte with the numbers of zero bytes.
constexpr uint8_t kZeros = 64;  // codes >= kZeros are a run of (code - kZeros + 1) zeros

void PutWord(uint64_t word, std::vector<uint8_t>* out) {
  const int leading = std::countl_zero(word) / 8, trailing = std::countr_zero(word) / 8;
  out->push_back(static_cast<uint8_t>(leading << 3 | trailing));
  word >>= trailing * 8;
  for (int k = 8 - leading - trailing; k > 0; --k, word >>= 8)
    out->push_back(static_cast<uint8_t>(word));
}

// Converts cells to words and back. A word is the difference between the cell and the value
// predicted from the previous cells.
class Difference {
 public:
  explicit Difference(CellKind kind) : position_(kind == CellKind::kPosition) {}
  uint64_t ToWord(uint64_t cell) {
    if (!position_) return std::exchange(last_, cell) ^ cell;
    const uint64_t step = cell - last_;
    const uint64_t change = step - step_;
    Take(cell, step);
    // Zigzag encoding maps small changes of either sign to small codes.
    return change << 1 ^ (0 - (change >> 63));
  }
  uint64_t ToCell(uint64_t word) {
    if (!position_) return last_ ^= word;
    const uint64_t step = step_ + (word >> 1 ^ (0 - (word & 1)));
    const uint64_t cell = last_ + step;
    Take(cell, step);
    return cell;
  }

 private:
  void Take(uint64_t cell, uint64_t step) {
    step_ = first_ ? 0 : step;  // the first cell does not define a step
    first_ = false;
    last_ = cell;
  }
  const bool position_;
  bool first_ = true;
  uint64_t last_ = 0, step_ = 0;
};

void PutRaw(uint64_t cell, std::vector<uint8_t>* out) {
  for (int k = 0; k < 8; ++k) out->push_back(static_cast<uint8_t>(cell >> (8 * k)));
}

uint64_t GetRaw(const uint8_t* from) {
  uint64_t cell = 0;
  for (int k = 0; k < 8; ++k) cell |= static_cast<uint64_t>(from[k]) << (8 * k);
  return cell;
}

}  // namespace

void EncodeCells(std::span<const uint64_t> cells, uint64_t blank, CellKind kind,
                 std::vector<uint8_t>* out) {
  PITWALL_CHECK(cells.size() <= kMaxCodedCells);
  uint64_t there = 0;
  for (size_t i = 0; i < cells.size(); ++i) there |= static_cast<uint64_t>(cells[i] != blank) << i;
  if (there == 0) return;
  const auto count = static_cast<size_t>(std::popcount(there));
  const uint8_t blanks = count < cells.size() ? kHasBlanks : 0;
  const size_t begin = out->size();
  out->push_back(blanks);
  if (blanks != 0) PutRaw(there, out);
  const size_t body = out->size();
  Difference difference(kind);
  uint8_t zeros = 0;
  const auto end_zeros = [&] {
    if (zeros > 0) out->push_back(static_cast<uint8_t>(kZeros + zeros - 1));
    zeros = 0;
  };
  for (size_t i = 0; i < cells.size(); ++i) {
    if ((there >> i & 1) == 0) continue;
    const uint64_t word = difference.ToWord(cells[i]);
    if (word == 0) {
      ++zeros;
      continue;
    }
    end_zeros();
    PutWord(word, out);
  }
  end_zeros();
  if (out->size() - body < count * 8) return;
  out->resize(body);
  (*out)[begin] |= kRaw;
  for (size_t i = 0; i < cells.size(); ++i) {
    if ((there >> i & 1) != 0) PutRaw(cells[i], out);
  }
}

bool DecodeCells(std::span<const uint8_t> code, uint64_t blank, CellKind kind,
                 std::span<uint64_t> cells) {
  for (uint64_t& cell : cells) cell = blank;
  if (code.empty()) return true;
  const uint8_t flags = code[0];
  size_t at = 1;
  uint64_t there =
      cells.size() == kMaxCodedCells ? ~uint64_t{0} : (uint64_t{1} << cells.size()) - 1;
  if ((flags & kHasBlanks) != 0) {
    if (code.size() < 9) return false;
    const uint64_t mask = GetRaw(code.data() + 1);
    if ((mask & ~there) != 0) return false;
    there = mask;
    at = 9;
  }
  if ((flags & kRaw) != 0) {
    if (code.size() - at != static_cast<size_t>(std::popcount(there)) * 8) return false;
    for (; there != 0; there &= there - 1, at += 8)
      cells[static_cast<size_t>(std::countr_zero(there))] = GetRaw(code.data() + at);
    return true;
  }
  Difference difference(kind);
  uint32_t zeros = 0;
  for (; there != 0; there &= there - 1) {
    uint64_t word = 0;
    if (zeros > 0) {
      --zeros;
    } else {
      if (at >= code.size()) return false;
      const uint8_t control = code[at++];
      if (control >= kZeros) {
        zeros = control - kZeros;
      } else {
        const int leading = control >> 3, trailing = control & 7;
        const int bytes = 8 - leading - trailing;
        if (bytes < 1 || code.size() - at < static_cast<size_t>(bytes)) return false;
        for (int k = 0; k < bytes; ++k) word |= static_cast<uint64_t>(code[at++]) << (8 * k);
        word <<= trailing * 8;
      }
    }
    cells[static_cast<size_t>(std::countr_zero(there))] = difference.ToCell(word);
  }
  return zeros == 0 && at == code.size();
}

}  // namespace pitwall::window
