#include "services/codec/imports/row_output.h"

#include "services/base/text/strings.h"

namespace pitwall::imports {

Status RowOutput::Error(uint32_t line, std::string_view what) const {
  return InvalidArgument(Cat(name_, ":", line, ":1: ", what));
}

Status RowOutput::TooLong(uint32_t line, size_t limit) const {
  return ResourceExhausted(
      Cat(name_, ":", line, ":1: row or document is longer than ", limit, " bytes"));
}

void RowOutput::Skip(uint32_t line, std::string_view cause) {
  skipped_.Skip(Cat(name_, ":", line, ":1: ", cause));
}

Status RowOutput::Give(uint32_t line, const Row& row) {
  const Status given = Annotate(sink_(line, row), Cat(name_, ":", line, ":1"));
  if (given.ok()) skipped_.Use();
  return skipped_.SkipInvalid(given);
}

}  // namespace pitwall::imports
