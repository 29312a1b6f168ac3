// Breakdown of the bytes in a history's segments.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/store/segment_reader.h"
#include "services/base/status.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

// Returns the bytes by table kind and column, including the footers and the catalog, largest first.
inline StatusOr<std::vector<std::pair<std::string, uint64_t>>> SizesOf(const std::string& dir) {
  std::map<std::string, uint64_t> sizes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    uint64_t rest = entry.file_size();
    if (entry.path().extension() != ".seg") {
      sizes[entry.path().filename().string()] += rest;
      continue;
    }
    ASSIGN_OR_RETURN(const auto reader, store::SegmentReader::Open(entry.path().string()));
    for (size_t number = 0; number < reader->entries().size(); ++number) {
      ASSIGN_OR_RETURN(const store::TablePtr table, reader->TableAt(number));
      const std::string kind = table->key.substr(0, table->key.find('/'));
      for (const store::RowGroup& group : table->groups) {
        for (size_t c = 0; c < group.pages.size(); ++c) {
          const bool value = table->columns[c] == store::ColumnType::kValue;
          sizes[value ? Cat(kind, " values") : Cat(kind, " ", c)] += group.pages[c].bytes;
          rest -= group.pages[c].bytes;
        }
      }
    }
    sizes["footers"] += rest;
  }
  std::vector<std::pair<std::string, uint64_t>> out(sizes.begin(), sizes.end());
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace pitwall::history
