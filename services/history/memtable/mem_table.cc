#include "services/history/memtable/mem_table.h"

#include <algorithm>
#include <numeric>

#include "services/history/windows/bounded_growth_vector.h"
#include "services/history/windows/node_means.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr size_t kPackedRows = 120;
constexpr size_t kPackedBytes = size_t{256} << 10;
constexpr size_t kMinRows = 8;  // fewer rows do not compress well
// Minimum size of rows that are moved to the file. Moving fewer bytes would not save enough memory
// to pay for recording their location.
constexpr size_t kMinBytes = size_t{4} << 10;

bool WorthMoving(const TailRows& rows) {
  return rows.rows.size() >= kMinRows && rows.bytes() >= kMinBytes;
}

}  // namespace

void MemTable::AddRows(const OriginPtr& origin, const SharedSchema& schema, const Frame& frame,
                       size_t from, size_t to, uint64_t sequence) {
  std::unique_ptr<Table>& table = index_[{origin.get(), schema->id}];
  if (table == nullptr) {
    table = std::make_unique<Table>(Table{origin, schema, {}, {}});
    tables_.push_back(table.get());
    bytes_ += sizeof(Table) + 256;
  }
  const size_t rows = to - from;
  const size_t columns = schema->series.size();
  TailRows& into = table->rows;
  table->first_ns = std::min(table->first_ns, frame.times[from]);
  table->last_ns = std::max(table->last_ns, frame.times[to - 1]);
  const size_t before = into.bytes();
  ReserveFor(&into.rows, rows, 2);
  ReserveFor(&into.cells, rows * columns, 2);
  const int64_t mode = modes_.Of(frame.mode);
  for (size_t i = from; i < to; ++i) {
    into.rows.push_back({frame.times[i], static_cast<int64_t>(sequence),
                         frame.steps.empty() ? kNoStep : frame.steps[i], mode});
  }
  const auto cells = frame.values.subspan(from * columns, rows * columns);
  into.cells.insert(into.cells.end(), cells.begin(), cells.end());
  if (!IsMade(*schema)) {
    samples_ += static_cast<uint64_t>(
        std::count_if(cells.begin(), cells.end(), [](double v) { return !IsMissing(v); }));
  }
  bytes_ += into.bytes() - before;
  const bool large =
      into.cells.size() * sizeof(double) >= kPackedBytes && into.rows.size() >= kMinRows;
  if (large || into.rows.size() >= kPackedRows) PackRows(table.get());
}

void MemTable::PackRows(Table* table) {
  TailRows& rows = table->rows;
  StatusOr<PackedChunkPtr> chunk = PackedChunk::Pack(rows, table->schema->series.size());
  if (!chunk.ok()) return;  // out of memory; packing is retried with the next rows
  bytes_ += (*chunk)->bytes() - rows.bytes();
  packed_bytes_ += (*chunk)->bytes();
  table->chunks.push_back(*std::move(chunk));
  rows = {};  // also frees the memory, because few of the many tables are nearly full at a time
}

void MemTable::AddSpan(const OriginPtr& origin, const Span& span, uint64_t sequence) {
  spans_.Add({origin, span.kind, span.name, span.mode, span.start.ns(), span.end.ns(), span.step,
              static_cast<int64_t>(sequence)});
  least_start_ns_ = std::min(least_start_ns_, span.start.ns());
}

size_t MemTable::movable_bytes() const {
  size_t bytes = packed_bytes_;
  for (const Table* table : tables_) {
    if (WorthMoving(table->rows)) bytes += table->rows.bytes();
  }
  return bytes;
}

Status MemTable::MoveTo(const std::shared_ptr<MemTableFile>& file) {
  for (Table* table : tables_) {
    if (WorthMoving(table->rows)) PackRows(table);
    for (PackedChunkPtr& chunk : table->chunks) {
      if (chunk->in_file()) continue;
      ASSIGN_OR_RETURN(PackedChunkPtr moved, chunk->MoveTo(file));
      bytes_ -= chunk->bytes() - moved->bytes();
      packed_bytes_ -= chunk->bytes();
      chunk = std::move(moved);
    }
  }
  return OkStatus();
}

MemTablePart MemTable::PartOf(const Table& table, std::vector<uint32_t> columns, bool rows) {
  MemTablePart part;
  part.tail.origin = table.origin;
  part.tail.schema = table.schema;
  part.tail.columns = std::move(columns);
  part.tail.values.resize(part.tail.columns.size());
  part.first_ns = table.first_ns;
  part.last_ns = table.last_ns;
  if (!rows) return part;
  part.chunks = table.chunks;
  table.rows.AppendTo(table.schema->series.size(), &part.tail);
  return part;
}

Status MemTable::Copy(SeriesSet* set, std::vector<MemTablePart>* out) const {
  for (const Table* table : tables_) {
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(*table->schema));
    if (!wanted->columns.empty()) out->push_back(PartOf(*table, wanted->columns));
  }
  return OkStatus();
}

void MemTable::CopyTimes(std::vector<MemTablePart>* out) const {
  absl::flat_hash_map<std::pair<const Origin*, uint32_t>, size_t> counts;
  for (const Table* table : tables_) ++counts[{table->origin.get(), table->schema->stream}];
  for (const Table* table : tables_) {
    const bool alone = counts[{table->origin.get(), table->schema->stream}] == 1;
    out->push_back(PartOf(*table, {}, !alone));
  }
}

StatusOr<RowTable> MemTable::Rows(size_t table, Values values) const {
  const Table& of = *tables_[table];
  std::vector<uint32_t> columns(values == Values::kAll ? of.schema->series.size() : 0);
  std::iota(columns.begin(), columns.end(), 0);
  return PartOf(of, std::move(columns)).Rows();
}

StatusOr<RowTable> MemTablePart::Rows() const {
  RowTable rows;
  rows.origin = tail.origin;
  rows.schema = tail.schema;
  rows.columns = tail.columns;
  rows.values.resize(tail.columns.size());
  size_t count = tail.times.size();
  for (const PackedChunkPtr& chunk : chunks) count += chunk->rows();
  for (auto* column : {&rows.times, &rows.sequences, &rows.steps, &rows.modes})
    column->reserve(count);
  for (std::vector<double>& column : rows.values) column.reserve(count);
  for (const PackedChunkPtr& chunk : chunks) RETURN_IF_ERROR(chunk->AppendTo(&rows));
  rows.Append(tail);
  rows.Sort();
  return rows;
}

}  // namespace pitwall::history
