// Input format of both differential test programs: lines of tab-separated fields. Inside a field,
// \t, \n, and \\ are escaped. Invalid input terminates the program with a message, because only the
// test writes the input.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "services/model/labels.h"
#include "services/model/value.h"
#include "services/offline/query.h"

namespace pitwall::differential {

inline constexpr int64_t kMillisecond = 1'000'000;

inline std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      fields.emplace_back();
    } else if (line[i] == '\\' && i + 1 < line.size()) {
      const char escaped = line[++i];
      fields.back() += escaped == 't' ? '\t' : escaped == 'n' ? '\n' : escaped;
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

inline std::string ReadLine(const char* program) {
  std::string line;
  if (!std::getline(std::cin, line)) {
    std::cerr << program << ": input ends inside a request\n";
    std::exit(2);
  }
  return line;
}

inline int64_t Number(const std::string& text) { return std::strtoll(text.c_str(), nullptr, 10); }

// Parses "name=value… <TAB>|<TAB> t_ms:value…". A value is in strtod's format or the word stale.
inline offline::QuerySeries ParseSeries(const std::string& line) {
  const std::vector<std::string> fields = Fields(line);
  offline::QuerySeries series;
  std::vector<Label> labels;
  size_t i = 0;
  for (; i < fields.size() && fields[i] != "|"; ++i) {
    const size_t equals = fields[i].find('=');
    labels.push_back({fields[i].substr(0, equals), fields[i].substr(equals + 1)});
  }
  series.labels = Labels::FromPairs(std::move(labels));
  for (++i; i < fields.size(); ++i) {
    const size_t colon = fields[i].find(':');
    const std::string value = fields[i].substr(colon + 1);
    series.samples.emplace_back(
        Number(fields[i]) * kMillisecond,
        value == "stale" ? StaleMarker() : std::strtod(value.c_str(), nullptr));
  }
  return series;
}

// Handles the request "series<TAB>N": replaces `series` with the series on the next N lines.
// Returns false for any other request.
inline bool ReadSeries(const std::vector<std::string>& fields, const char* program,
                       std::vector<offline::QuerySeries>* series) {
  if (fields[0] != "series" || fields.size() != 2) return false;
  series->clear();
  for (int64_t n = Number(fields[1]); n > 0; --n) series->push_back(ParseSeries(ReadLine(program)));
  return true;
}

}  // namespace pitwall::differential
