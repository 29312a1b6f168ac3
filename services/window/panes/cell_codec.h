// Lossless compression of one column's cells over several panes. Long windows use it for panes that
// they do not read for a while.
//
// A value is stored as its difference (XOR) from the previous value, as in Gorilla (T. Pelkonen et
// al., "Gorilla: a fast, scalable, in-memory time series database", VLDB 2015), but in whole bytes.
// A position is stored as a difference of differences. A run of equal values takes one byte in
// total. Noise takes eight bytes per value plus one byte in total.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pitwall::window {

inline constexpr size_t kMaxCodedCells = 64;

enum class CellKind : uint8_t { kValue, kPosition };

// Appends the code for at most kMaxCodedCells cells. If all cells are `blank`, the code is empty.
void EncodeCells(std::span<const uint64_t> cells, uint64_t blank, CellKind kind,
                 std::vector<uint8_t>* out);

// Decodes the cells. Returns false, with unspecified cells, if the bytes are not a valid code for
// that many cells. Never accesses memory beyond either span.
bool DecodeCells(std::span<const uint8_t> code, uint64_t blank, CellKind kind,
                 std::span<uint64_t> cells);

}  // namespace pitwall::window
