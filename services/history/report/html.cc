#include "services/history/report/html.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/history/report/svg.h"
#include "services/history/report/text_form.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kStyle = R"(
:root{--back:#fff;--ink:#1b2126;--dim:#566069;--rule:#d5dade;--grid:#e4e8eb;--head:#f2f4f5;--link:#0b5c86;--bad:#b3261e;--bad-back:#fdebe9;--note:#17588c;--note-back:#e6f1fa;--good:#1d6b3c;--good-back:#e5f4ea;--firing:#b3261e26;--pending:#e69f0033;--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#b3599a;--c5:#b37a00;--c6:#3b93c9;--c7:#6b7780;--c8:#7a5195;--on:#fff;color-scheme:light}
@media (prefers-color-scheme:dark){:root{--back:#14191d;--ink:#e6eaed;--dim:#9ea9b1;--rule:#323b42;--grid:#283036;--head:#1d2429;--link:#79c0e8;--bad:#ff9a8f;--bad-back:#3b1d1b;--note:#8fc7f0;--note-back:#182c3b;--good:#84d3a0;--good-back:#17301f;--firing:#ff9a8f33;--pending:#f3bd6b33;--c1:#56b4e9;--c2:#f08a4b;--c3:#3ecfa0;--c4:#e4a3c6;--c5:#f0c04a;--c6:#9fd3f2;--c7:#a3aeb6;--c8:#c3a6dc;--on:#101417;color-scheme:dark}}
@media print{:root{--back:#fff;--ink:#000;--dim:#444;--rule:#bbb;--grid:#ddd;--head:#f2f2f2;--link:#000;--bad:#b3261e;--bad-back:#fff;--note:#17588c;--note-back:#fff;--good:#1d6b3c;--good-back:#fff;--firing:#b3261e26;--pending:#e69f0033;--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#b3599a;--c5:#b37a00;--c6:#3b93c9;--c7:#6b7780;--c8:#7a5195;--on:#fff;color-scheme:light}nav{display:none}body{font-size:11px}main{padding:0}figure,tr,.facts,p{break-inside:avoid}h2,h3,caption{break-after:avoid}thead{display:table-header-group}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:14px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:24px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:18px;margin:34px 0 8px;padding-top:12px;border-top:1px solid var(--rule)}
h3{font-size:15px;margin:22px 0 6px}
p{margin:6px 0;max-width:88ch;overflow-wrap:anywhere;white-space:pre-line}
.dim{color:var(--dim)}
a{color:var(--link)}
nav ul{columns:3;list-style:none;margin:12px 0 0;padding:0;font-size:13px}
p.good,p.note,p.bad{padding:7px 11px;border-left:3px solid;border-radius:3px}
p.good{background:var(--good-back);border-color:var(--good)}
p.note{background:var(--note-back);border-color:var(--note)}
p.bad{background:var(--bad-back);border-color:var(--bad)}
.scroll{overflow-x:auto;margin:10px 0 14px}
table{border-collapse:collapse;width:100%;font-size:13px}
caption,figcaption{text-align:left;color:var(--dim);font-size:13px;padding:0 0 5px}
th,td{padding:4px 9px;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;overflow-wrap:anywhere;unicode-bidi:isolate;min-width:6em}
thead th{background:var(--head);font-weight:600;white-space:nowrap}
td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;min-width:0}
td.t{white-space:nowrap;font-variant-numeric:tabular-nums}
td.c{font-family:ui-monospace,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}
td.c{min-width:14em}
td.s{white-space:nowrap}
summary{cursor:pointer}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:0 22px;margin:8px 0 14px}
.facts div{display:flex;justify-content:space-between;gap:12px;padding:4px 0;border-bottom:1px solid var(--rule);min-width:0}
.facts dt{color:var(--dim);white-space:nowrap}
.facts dd{margin:0;text-align:right;overflow-wrap:anywhere;unicode-bidi:isolate;font-variant-numeric:tabular-nums}
figure{margin:12px 0 18px}
svg{display:block;width:100%;height:auto;font-size:11px}
svg text{fill:var(--dim)}
.end{text-anchor:end}.middle{text-anchor:middle}
svg text.on{fill:var(--on);font-weight:600}svg text.bad{fill:var(--bad)}
.grid{stroke:var(--grid);stroke-width:1}
.line{fill:none;stroke-width:1.5;stroke-linejoin:round}
.dots,.line{stroke-linecap:round}.dots{stroke-width:4}
.key{stroke-width:3}
.limit{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 3}
.firing{fill:var(--firing)}.pending{fill:var(--pending)}
path.c1{stroke:var(--c1)}path.c2{stroke:var(--c2)}path.c3{stroke:var(--c3)}path.c4{stroke:var(--c4)}path.c5{stroke:var(--c5)}path.c6{stroke:var(--c6)}path.c7{stroke:var(--c7)}path.c8{stroke:var(--c8)}
rect.c1{fill:var(--c1)}rect.c2{fill:var(--c2)}rect.c3{fill:var(--c3)}rect.c4{fill:var(--c4)}rect.c5{fill:var(--c5)}rect.c6{fill:var(--c6)}rect.c7{fill:var(--c7)}rect.c8{fill:var(--c8)}
.bar{fill:var(--c1)}.whisker{stroke:var(--c1);stroke-width:1.5}.median{stroke:var(--on);stroke-width:2}.box circle{fill:var(--c1)}
ul.parts{list-style:none;display:flex;flex-wrap:wrap;gap:2px 18px;padding:0;margin:4px 0 0;font-size:13px}
ul.parts b{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
b.c1{background:var(--c1)}b.c2{background:var(--c2)}b.c3{background:var(--c3)}b.c4{background:var(--c4)}b.c5{background:var(--c5)}b.c6{background:var(--c6)}b.c7{background:var(--c7)}b.c8{background:var(--c8)}
)";

std::string_view ClassOf(Unit unit) {
  switch (unit) {
    case Unit::kText:
    case Unit::kWord:
      return "w";
    case Unit::kName:
      return "c";
    case Unit::kTime:
      return "t";
    default:
      return "n";
  }
}

constexpr size_t kShortText = 16;    // longer words may wrap within their cell
constexpr size_t kFoldedName = 300;  // longer expressions are collapsed

bool IsShort(std::string_view shown, Unit unit) {
  return (unit == Unit::kText || unit == Unit::kWord) && shown.size() <= kShortText;
}

// Returns the HTML for a name, which may wrap after a slash. A long expression is collapsed so that
// only its beginning is visible.
std::string NameHtml(std::string_view name) {
  if (name.size() > kFoldedName) {
    size_t end = 120;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
    return Cat("<details><summary>", Escaped(name.substr(0, end)), "…</summary>", Escaped(name),
               "</details>");
  }
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const size_t slash = std::min(name.find('/', at), name.size() - 1);
    CatTo(out, Escaped(name.substr(at, slash + 1 - at)), slash + 1 < name.size() ? "<wbr>" : "");
    at = slash + 1;
  }
  return out;
}

class Writer {
 public:
  std::string Write(const Document& document) {
    const std::string& name = document.name.empty() ? document.job : document.name;
    CatTo(out_, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
          "<meta http-equiv=\"Content-Security-Policy\" content=\"", kReportPolicy, "\">",
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
          "<meta name=\"color-scheme\" content=\"light dark\"><title>Report for ", Escaped(name),
          "</title>\n<style>", kStyle, "</style></head>\n<body><main>\n<h1>Report for ",
          Escaped(name), "</h1>\n<p class=\"dim\">Job ", Escaped(document.job), ", ",
          Escaped(document.state), ". Data from ", ShownUtc(document.from_ns), " to ",
          ShownUtc(document.as_of_ns), ". All times are in UTC. Pitwall ",
          Escaped(document.version), ".");
    if (StartsWith(document.link, "https://") || StartsWith(document.link, "http://"))
      CatTo(out_, " <a href=\"", Escaped(document.link), "\">Open the job page</a>.");
    out_ += "</p>\n<nav aria-label=\"Contents\"><ul>";
    for (const Section& section : document.sections) {
      if (!section.inner)
        CatTo(out_, "<li><a href=\"#", Escaped(section.id), "\">", Escaped(section.title),
              "</a></li>");
    }
    out_ += "</ul></nav>\n";
    for (const Section& section : document.sections) {
      const std::string_view level = section.inner ? "h3" : "h2";
      CatTo(out_, "<section id=\"", Escaped(section.id), "\"><", level, ">", Escaped(section.title),
            "</", level, ">\n");
      for (const Block& block : section.blocks)
        std::visit([this](const auto& one) { Add(one); }, block);
      out_ += "</section>\n";
    }
    out_ += "</main></body></html>\n";
    return std::move(out_);
  }

 private:
  void Add(const Paragraph& text) {
    constexpr std::string_view kClasses[] = {"plain", "good", "note", "bad"};
    CatTo(out_, "<p id=\"", Escaped(text.id), "\" class=\"",
          kClasses[static_cast<size_t>(text.tone)], "\">", Escaped(text.text), "</p>\n");
  }

  void Add(const Facts& facts) {
    CatTo(out_, "<dl class=\"facts\" id=\"", Escaped(facts.id), "\">");
    for (const Fact& fact : facts.facts) {
      CatTo(out_, "<div><dt>", Escaped(fact.title), "</dt><dd data-key=\"", Escaped(fact.key),
            "\" title=\"", Escaped(Exact(fact.value, fact.unit)), "\">",
            Escaped(Shown(fact.value, fact.unit)), "</dd></div>");
    }
    out_ += "</dl>\n";
  }

  void Add(const Table& table) {
    CatTo(out_, "<div class=\"scroll\"><table id=\"", Escaped(table.id), "\"><caption>",
          Escaped(table.caption), "</caption><thead><tr>");
    for (const Column& column : table.columns)
      CatTo(out_, "<th scope=\"col\" class=\"", ClassOf(column.unit), "\">", Escaped(column.title),
            "</th>");
    out_ += "</tr></thead><tbody>\n";
    for (size_t at = 0; at < table.rows.size(); ++at) {
      const Row& row = table.rows[at];
      out_ += "<tr>";
      for (size_t i = 0; i < row.size(); ++i) {
        const Unit unit = table.UnitAt(at, i);
        const std::string shown = Shown(row[i], unit);
        const std::string exact = Exact(row[i], unit);
        CatTo(out_, "<td class=\"", ClassOf(unit), IsShort(shown, unit) ? " s" : "", "\"");
        if (!std::holds_alternative<std::string>(row[i]) && exact != shown && !exact.empty())
          CatTo(out_, " title=\"", exact, "\"");
        CatTo(out_, ">", unit == Unit::kName ? NameHtml(shown) : Escaped(shown), "</td>");
      }
      out_ += "</tr>\n";
    }
    out_ += "</tbody></table></div>\n";
    if (table.left_out > 0)
      CatTo(out_, "<p class=\"dim\">", table.left_out,
            table.left_out == 1 ? " more row" : " more rows", " not shown.</p>\n");
  }

  template <typename Chart>
  void Figure(const Chart& chart) {
    const std::string svg = SvgOf(chart);
    if (svg.empty()) return;
    CatTo(out_, "<figure id=\"", Escaped(chart.id), "\"><figcaption>", Escaped(chart.caption),
          "</figcaption>", svg);
  }
  void Add(const LineChart& chart) {
    const size_t before = out_.size();
    Figure(chart);
    if (out_.size() != before) out_ += "</figure>\n";
  }
  void Add(const BoxChart& chart) {
    const size_t before = out_.size();
    Figure(chart);
    if (out_.size() != before) out_ += "</figure>\n";
  }
  void Add(const BarChart& chart) {
    if (chart.bars.empty()) return;
    Figure(chart);
    if (chart.whole) {
      out_ += "<ul class=\"parts\">";
      for (size_t i = 0; i < chart.bars.size(); ++i)
        CatTo(out_, "<li><b class=\"c", PartColor(chart.bars[i].name), "\"></b>",
              Escaped(chart.bars[i].name), " ",
              Escaped(Shown(Cell(chart.bars[i].value), chart.unit)), "</li>");
      out_ += "</ul>";
    }
    out_ += "</figure>\n";
  }

  std::string out_;
};

}  // namespace

std::string ReportHtml(const Document& document) { return Writer().Write(document); }

}  // namespace pitwall::history
