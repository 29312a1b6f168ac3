// pack.mjs DIST OUT: the files of DIST as C++, each plain, by gzip and by brotli, with its type and its entity tag.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const [dist, out] = process.argv.slice(2);
const types = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};
const budget = { plain: 150 * 1024, brotli: 50 * 1024 };

const names = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(dist.length + 1))
  .sort();

const arrays = [];
const rows = [];
const sum = { plain: 0, brotli: 0 };
names.forEach((name, i) => {
  const type = types[name.split(".").pop()];
  if (!type) throw new Error(`${name}: type not known; add it to pack.mjs`);
  const plain = readFileSync(join(dist, name));
  const brotli = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } });
  const gzip = gzipSync(plain, { level: 9 });
  if (!name.endsWith(".html")) {
    sum.plain += plain.length;
    sum.brotli += brotli.length;
  }
  const views = [plain, gzip, brotli].map((bytes, j) => {
    arrays.push(`constexpr unsigned char kBytes${i}x${j}[] = {${bytes.length ? Array.from(bytes).join(",") : 0}};`);
    return `{reinterpret_cast<const char*>(kBytes${i}x${j}), ${bytes.length}}`;
  });
  const tag = createHash("sha256").update(plain).digest("hex").slice(0, 16);
  rows.push(`    {"/${name}", "${type}", "\\"${tag}\\"", ${views.join(", ")}},`);
});
if (sum.plain > budget.plain || sum.brotli > budget.brotli) {
  throw new Error(`JS and CSS: over the budget (${sum.plain} bytes, ${sum.brotli} by brotli); at most ${budget.plain} and ${budget.brotli}`);
}
const csp = readFileSync("csp.txt", "utf8").trim();
writeFileSync(
  out,
  `// Made by services/web/pack.mjs.
#include "services/web/page_files.h"

namespace pitwall::insights {
namespace {
${arrays.join("\n")}
const PageFile kFiles[] = {
${rows.join("\n")}
};
}  // namespace

std::span<const PageFile> PageFiles() { return kFiles; }
std::string_view PagePolicy() { return "${csp}"; }

}  // namespace pitwall::insights
`,
);
console.log(`page: ${names.length} files, JS and CSS ${sum.plain} bytes, ${sum.brotli} by brotli`);
