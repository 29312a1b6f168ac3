// Cells of one column over some panes, packed without loss: what long windows keep of the panes
// that they will not look at for a while.
//
// A value is kept as its difference (XOR) to the one before, as in Gorilla (T. Pelkonen et al.,
// "Gorilla: a fast, scalable, in-memory time series database", VLDB 2015), but in whole bytes; a
// position as the difference of differences. Equal values cost a byte for all of them, noise eight
// bytes each and one for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pitwall::window {

inline constexpr size_t kMaxCodedCells = 64;

enum class CellKind : uint8_t { kValue, kPosition };

// Appends the code of at most kMaxCodedCells cells. Cells that are all `blank` have none.
void EncodeCells(std::span<const uint64_t> cells, uint64_t blank, CellKind kind,
                 std::vector<uint8_t>* out);

// The cells that this code was made of. False, with anything in the cells, for bytes that are not
// the code of as many cells; nothing beyond either span is touched.
bool DecodeCells(std::span<const uint8_t> code, uint64_t blank, CellKind kind,
                 std::span<uint64_t> cells);

}  // namespace pitwall::window
