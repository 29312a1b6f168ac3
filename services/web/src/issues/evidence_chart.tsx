// Chart of the series behind an issue, with the threshold. If the history lacks that series, the chart shows the values
// in the issue's events.
import { fetchAnswer, get } from "../api/client.ts";
import { queryOf } from "./expression.ts";
import { date, digits, duration, eventNumber, msOf, time } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Head, Num, Reading } from "../parts/parts.tsx";
import { shownTheme } from "../parts/theme.ts";
import { colorOf } from "../charts/surface.tsx";
import { type Line, type Shade, TimeChart } from "../charts/time_chart.tsx";
import type { ChartByTime, Evidence, IssueDetail, JobDetail, Labels, RuleDefinition } from "../api/types.ts";

const mostLines = 6;
const nanos = 1_000_000_000n;

// Returns a selector if the evidence is a plain metric, and otherwise an empty string. Expressions have no stored
// series.
export function selectorOf(evidence: Evidence): string {
  const name = evidence.name ?? "";
  const plain = /^([a-zA-Z_][a-zA-Z0-9_]*)(\{.*\})?$/s.exec(name);
  if (!plain) return "";
  const quoted = Object.entries(evidence.labels ?? {})
    .filter(([label]) => label !== "__name__")
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${plain[1]}{${quoted.join(",")}}`;
}

export function lineName(labels: Labels): string {
  const rest = Object.entries(labels).filter(([name]) => name !== "__name__");
  return `${labels.__name__ ?? ""}${rest.length ? `{${rest.map(([name, value]) => `${name}="${value}"`).join(", ")}}` : ""}`;
}

function linesOf(chart: ChartByTime): Line[] {
  return chart.series.slice(0, mostLines).map((series) => {
    const line: Line = { name: lineName(series.labels), times: [], min: [], max: [], last: [] };
    series.times_ns.forEach((at, i) => {
      line.times.push(msOf(at));
      line.min.push(series.min[i] ?? null);
      line.max.push(series.max[i] ?? null);
      line.last.push(series.last[i] ?? null);
    });
    return line;
  });
}

// Returns the values in the issue's events as a line. Milliseconds are precise enough for a chart.
function eventLine(issue: IssueDetail): Line {
  const points = issue.events
    .map((event) => ({ at: Date.parse(event.data.last_seen_at ?? event.time), value: eventNumber(event.data.value) }))
    .filter((point): point is { at: number; value: number } => point.value !== null && Number.isFinite(point.value))
    .sort((a, b) => a.at - b.at)
    .filter((point, i, all) => i === 0 || point.at > (all[i - 1] as { at: number }).at);
  const values = points.map((point) => point.value);
  return {
    name: `value of ${issue.alert}`,
    times: points.map((point) => point.at),
    min: values,
    max: values,
    last: values,
  };
}

// Labels that identify a location. Series from the issue's rank or node come first.
const places = ["rank", "node", "gpu", "hw_id"];
const ofIssue = (labels: Labels, issue: IssueDetail) =>
  places.every((place) => !labels[place] || !issue.labels[place] || labels[place] === issue.labels[place]);
const mostNeeds = 3;
// Returns the change in a series' mean at the onset. Times have the same number of digits, so they compare as strings.
function changeOf({ last, times_ns }: ChartByTime["series"][number], onset: string): number {
  const mean = (after: boolean) => {
    let sum = 0;
    let count = 0;
    last.forEach((value, i) => {
      if (value === null || (times_ns[i] ?? "") >= onset !== after) return;
      sum += value;
      count += 1;
    });
    return count ? sum / count : 0;
  };
  return Math.abs(mean(true) - mean(false));
}
function readBy(
  chart: ChartByTime,
  needs: string[],
  issue: IssueDetail,
): { name: string; lines: Line[]; all: number; names: string[] } | null {
  for (const name of needs) {
    const series = chart.series.filter((one) => one.labels.__name__ === name);
    const own = series.filter((one) => ofIssue(one.labels, issue));
    const rest = series.filter((one) => !own.includes(one));
    const filled = [...own, ...rest].filter((one) => one.last.some((value) => value !== null));
    // If there are many series, keep the ones that changed most at the onset.
    const changes =
      filled.length > mostLines ? filled.map((one) => ({ one, change: changeOf(one, issue.onset_ns ?? "") })) : [];
    const drawn = changes.length
      ? changes
          .sort((x, y) => y.change - x.change)
          .slice(0, mostLines)
          .map(({ one }) => one)
      : filled;
    // Name each line after the labels that differ.
    const names = drawn.map(({ labels }) =>
      Object.keys(labels)
        .filter((label) =>
          drawn.length > 1
            ? drawn.some((one) => one.labels[label] !== labels[label])
            : /^(rank|node|group)$/.test(label),
        )
        .map((label) => (["rank", "group"].includes(label) ? `${label} ${labels[label]}` : labels[label]))
        .join(" "),
    );
    if (drawn.length) return { name, lines: linesOf({ ...chart, series: drawn }), all: series.length, names };
  }
  return null;
}

// Returns the metric's selector from the expression, or the metric without matchers.
const selected = (expression: string, name: string) =>
  expression.match(new RegExp(`\\b${name}\\{[^{}$]*\\}`))?.[0] ?? `${name}{}`;

function WhatItReads({
  job,
  issue,
  rule,
  needs,
  from,
  to,
  shades,
}: {
  job: JobDetail;
  issue: IssueDetail;
  rule: RuleDefinition | null;
  needs: string[];
  from: string;
  to: string;
  shades: Shade[];
}) {
  // Metrics with alternating states are hard to read in a chart, so other metrics come first.
  const named = needs.filter((name) => /^[a-zA-Z_]\w*$/.test(name));
  const asked = [
    ...named.filter((name) => !name.endsWith("_state")),
    ...named.filter((name) => name.endsWith("_state")),
  ].slice(0, mostNeeds);
  const loaded = useLoad<ChartByTime | null>(
    `read ${job.id} ${asked} ${from} ${issue.open ? "open" : to}`,
    (abort) =>
      asked.length
        ? get<ChartByTime>(
            "/chart",
            { job: job.id, match: asked.map((name) => selected(rule?.expression ?? "", name)), from, to, width: 900 },
            abort,
          )
        : Promise.resolve(null),
    issue.open ? ["samples"] : [],
    job.id,
  );
  const read = loaded.data && readBy(loaded.data, asked, issue);
  if (!read) return null;
  return (
    <section data-reads={read.name}>
      <p
        class="small cut"
        title={read.lines
          .map((line) => line.name)
          .join("\n")
          .slice(0, 500)}
      >
        <span class="code">{read.name}</span>{" "}
        <span class="dim">
          input of the rule{read.all > read.lines.length ? `, ${read.lines.length} of ${read.all} series` : ""}
        </span>
        {read.names.map((name, i) => (
          <span key={name}>
            {" "}
            <i class="swatch" style={{ background: colorOf(i) }} />
            {name.slice(0, 60)}
          </span>
        ))}
      </p>
      <TimeChart
        lines={read.lines}
        points={false}
        threshold={null}
        shades={shades}
        label={read.name}
        theme={shownTheme.value}
        mark={null}
        from={msOf(from)}
        to={msOf(to)}
      />
    </section>
  );
}

interface Answer {
  data: { result: { metric: Labels; values: [number, string][] }[] };
}

// Evaluates the left side of the criterion on the history. Returns no lines if the history lacks its input or the query
// fails.
async function compared(
  query: string,
  issue: IssueDetail,
  from: string,
  to: string,
  abort: AbortSignal,
): Promise<Line[]> {
  const [start, end] = [msOf(from) / 1000, msOf(to) / 1000];
  const asked = new URLSearchParams({
    query,
    start: String(start),
    end: String(end),
    step: String(Math.max(1, Math.ceil((end - start) / 300))),
    lookback_delta: "1m",
  });
  try {
    const { data } = (await (await fetchAnswer(`/api/v1/query_range?${asked}`, abort)).json()) as Answer;
    return data.result
      .filter((one) => ofIssue(one.metric, issue))
      .slice(0, mostLines)
      .map((one) => {
        const values = one.values.map(([, text]) => (Number.isFinite(Number(text)) ? Number(text) : null));
        return {
          name: lineName(one.metric) || issue.alert,
          times: one.values.map(([at]) => at * 1000),
          min: values,
          max: values,
          last: values,
        };
      });
  } catch {
    return [];
  }
}

export function EvidenceChart({
  job,
  issue,
  rule,
}: {
  job: JobDetail;
  issue: IssueDetail;
  rule: RuleDefinition | null;
}) {
  const needs = rule?.needs ?? [];
  const started = issue.started_ns;
  const selector = (issue.event.data.evidence ?? []).map(selectorOf).find((text) => text) ?? "";
  const begin = issue.active_since_ns ?? started;
  const end = issue.ended_ns ?? job.ended_ns ?? job.last_ns;
  const known = begin !== null && end !== null;
  // Before the issue, show a period of the same length, but at least 2 minutes and at most a day.
  const length = known ? BigInt(end) - BigInt(begin) : 0n;
  const around = length < 120n * nanos ? 120n * nanos : length > 86_400n * nanos ? 86_400n * nanos : length;
  // There is no data before the job.
  const first = BigInt(job.first_ns ?? 0);
  const onset = BigInt(issue.onset_ns ?? begin ?? 0);
  const early = onset - around;
  const from = known ? String(early < first && first < onset ? first : early) : "";
  // There is no data after the newest sample.
  const late = BigInt(end ?? 0) + (issue.open ? 0n : around / 4n);
  const last = BigInt(job.last_ns ?? 0) > BigInt(end ?? 0) ? BigInt(job.last_ns ?? 0) : BigInt(end ?? 0);
  const to = known ? String((late < last ? late : last) + 1n) : "";
  const query = !selector && rule ? queryOf(rule.expression, needs, job.id, issue.event.data.parameters ?? {}) : "";
  const loaded = useLoad<{ lines: Line[]; all: number }>(
    `evidence ${job.id} ${selector}${query} ${from} ${issue.open ? "open" : to}`,
    async (abort) => {
      const chart =
        selector && known
          ? await get<ChartByTime>("/chart", { job: job.id, match: selector, from, to, width: 900 }, abort)
          : null;
      return {
        lines: chart ? linesOf(chart) : query && known ? await compared(query, issue, from, to, abort) : [],
        all: chart?.series.length ?? 0,
      };
    },
    issue.open ? ["samples"] : [],
    job.id,
  );
  if (!known) return <p class="dim">No chart: this issue's times are unknown.</p>;
  if (loaded.fault || !loaded.data) return <Reading loaded={loaded} what="the evidence" />;
  const stored = loaded.data.lines;
  const lines = !stored.length ? [eventLine(issue)] : query ? [...stored, { ...eventLine(issue), dots: true }] : stored;
  const found = issue.events[0];
  const value = eventNumber(found?.data.value);
  const shades: Shade[] = [];
  const began = onset < BigInt(begin) ? onset : BigInt(begin);
  const endMs = msOf(end);
  if (started !== null) {
    if (began < BigInt(started)) shades.push({ from: msOf(String(began)), to: msOf(started), kind: "pending" });
    shades.push({ from: msOf(started), to: endMs, kind: "firing" });
  }
  // Mark the value at the start only if the chart shows the rule's own value.
  const comparable = !!query || !stored.length || (issue.event.data.evidence ?? []).length === 1;
  const kept = job.raw_from_ns;
  const left = out(stored.length, loaded.data.all);
  // With one or two values, the input of the rule is more informative.
  const few = !stored.length && (lines[0]?.times.length ?? 0) < 3;
  const reads = !stored.length && (
    <WhatItReads job={job} issue={issue} rule={rule} needs={needs} from={from} to={to} shades={shades} />
  );
  const label = `${lines[0]?.name ?? ""} from ${time(from)} to ${time(to)}${issue.threshold === null ? "" : `, threshold ${digits(issue.threshold)}`}`;
  return (
    <figure
      class="evidence"
      data-pending-ns={begin}
      data-firing-ns={started ?? ""}
      data-end-ns={issue.ended_ns ?? ""}
      data-query={stored.length ? query : ""}
    >
      {few && reads}
      <figcaption>
        <span
          class="code cut"
          title={lines
            .map((line) => line.name)
            .join("\n")
            .slice(0, 500)}
        >
          {lines
            .map((line) => line.name)
            .join("; ")
            .slice(0, 300)}
        </span>
        {query && stored.length > 0 && (
          <span class="dim">left side of the criterion, with the values in the issue's events</span>
        )}
        {left && <span class="dim">{left}</span>}
        {!stored.length && <span class="dim">values in the issue's events</span>}
      </figcaption>
      <TimeChart
        tall={few ? 100 : undefined}
        lines={lines}
        points={!stored.length}
        threshold={issue.threshold}
        shades={shades}
        label={label}
        theme={shownTheme.value}
        mark={comparable && started !== null && value !== null ? { time: msOf(started), value } : null}
        from={msOf(from)}
        to={msOf(to)}
      />
      {kept && BigInt(from) < BigInt(kept) && (
        <p class="dim small" data-rollups>
          Raw data was dropped{job.raw_dropped_ns ? ` on ${date(msOf(job.raw_dropped_ns))}` : ""}; the chart uses
          rollups.
        </p>
      )}
      <p class="legend dim small">
        {shades.length > 1 && (
          <span>
            <i class="swatch pending" /> {onset < BigInt(begin) ? "Began" : "Pending since"} {time(String(began))}
          </span>
        )}
        <span>
          <i class="swatch firing" /> Firing since {time(started)}
        </span>
        <span>
          {issue.open ? "Open" : `Ended ${time(issue.ended_ns)}`}, {duration(Number(length) / 1e9)}
        </span>
      </p>
      {!few && reads}
      <details>
        <summary>Show as table</summary>
        <DataTable lines={lines} />
      </details>
    </figure>
  );
}

function out(shown: number, all: number): string {
  return shown < all ? `first ${shown} of ${all} series` : "";
}

const mostRows = 200;

function DataTable({ lines }: { lines: Line[] }) {
  const rows = lines.flatMap((line) =>
    line.times.map((at, i) => ({ key: `${line.name} ${at}`, at, name: line.name, last: line.last[i] ?? null })),
  );
  const shown = rows.slice(-mostRows);
  return (
    <div class="scroll">
      <table class="plain">
        <Head of={["Time", "Series", "Value|number"]} />
        <tbody>
          {shown.map((row) => (
            <tr key={row.key}>
              <Num>{new Date(row.at).toISOString().replace("T", " ").slice(0, 23)}</Num>
              <td class="code wrap">{row.name.slice(0, 200)}</td>
              <Num>{digits(row.last)}</Num>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <p class="dim small">
          Newest {shown.length} of {rows.length} rows.
        </p>
      )}
    </div>
  );
}
