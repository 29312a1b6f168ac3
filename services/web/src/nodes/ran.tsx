// Timeline of the ranks, and a list of spans in the selected interval or in a rank's selected steps.
import { useState } from "preact/hooks";
import { bounds, chartKey, rangeName, select, selection, shownRange, zoomTo } from "../charts/range.ts";
import { type Bars, Timeline } from "../charts/timeline.tsx";
import { get } from "../api/client.ts";
import { count, duration, exactTime, missing, msOf, plural, time } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Cut, Head, Num, Panel, Reading, Scroll } from "../parts/parts.tsx";
import { place, setQuery } from "../route.ts";
import type { JobDetail, Spans } from "../api/types.ts";

const mostSpans = 20_000; // shown on the timeline
const aheadNs = 60_000_000_000n; // read beyond the job's last sample, for spans that have ended since
const silentMs = 5000; // time without a span end before the bar of a rank is drawn as open
const page = 200; // rows of the list
type Answer = { spans: Spans; next: string | null };

// Returns the spans in the range or, if there are too many, the spans in the newest part that fits.
async function newest(
  job: JobDetail,
  range: { from: string; to: string },
  abort: AbortSignal,
): Promise<Answer & { from: string }> {
  let from = BigInt(range.from);
  const to = BigInt(range.to);
  for (;;) {
    const answer = await get<Answer>(
      "/spans",
      { job: job.id, from: String(from), to: range.to, kind: ["step", "phase"], limit: mostSpans },
      abort,
    );
    const begun = answer.spans.start_ns;
    if (answer.next === null || begun.length === 0) return { ...answer, from: String(from) };
    const length = BigInt(begun[begun.length - 1] as string) - from;
    const next = to - (length > 0n ? (length * 8n) / 10n : (to - from) / 2n);
    from = next > from ? next : from + (to - from) / 2n;
  }
}

function barsOf(job: JobDetail, spans: Spans, range: { to: string }): Bars {
  const ranks = [...new Set(job.sources.filter((source) => source.rank !== null).map((source) => source.rank))].sort(
    (a, b) => (a ?? 0) - (b ?? 0),
  );
  const ends = new Map<number | null, number>();
  let [longest, latest] = [0, 0];
  spans.end_ns.forEach((end, i) => {
    const rank = spans.rank[i] ?? null;
    if (!ranks.includes(rank)) ranks.push(rank);
    const ms = msOf(end);
    longest = Math.max(longest, ms - msOf(spans.start_ns[i] as string));
    latest = Math.max(latest, ms);
    if (ms > (ends.get(rank) ?? 0)) ends.set(rank, ms);
  });
  const endMs = job.last_ns === null ? 0 : msOf(job.last_ns);
  const live = job.state === "running" && BigInt(range.to) >= BigInt(job.last_ns ?? 0);
  return {
    ranks,
    spans,
    endMs,
    latest,
    open: new Map(live ? [...ends].filter(([, end]) => endMs - end > Math.max(silentMs, 3 * longest)) : []),
  };
}

export function Ran({ job, from, to }: { job: JobDetail; from: number; to: number }) {
  const range = shownRange(job);
  const live = job.state === "running" && rangeName() !== null;
  if (live) range.to = String(BigInt(range.to) + aheadNs);
  const loaded = useLoad(
    `timeline ${job.id} ${chartKey()}`,
    (abort) => newest(job, range, abort),
    ["samples"],
    job.id,
    `timeline ${job.id}`,
    2,
  );
  const data = loaded.data;
  const bars = data && barsOf(job, data.spans, range);
  const left = data && BigInt(data.from) > BigInt(range.from);
  return (
    <Panel
      title="Timeline of all ranks"
      id="timeline-title"
      note={left ? `Showing events since ${time(data.from)}. Zoom in to see earlier events.` : "Drag to zoom"}
    >
      <div class="pad">
        <Reading loaded={loaded} what="the timeline" />
        {data && data.spans.start_ns.length === 0 && (
          <p class="dim">
            No step or phase ended in this range. Record steps and phases in the training script with
            pitwall.steps(loader) and pitwall.phase(name).
          </p>
        )}
        {bars && data.spans.start_ns.length > 0 && (
          <Timeline
            bars={bars}
            from={from}
            to={live ? Math.max(to, bars.latest) : to}
            zoom={zoomTo}
            pick={(i) => select({ from: data.spans.start_ns[i] as string, to: data.spans.end_ns[i] as string })}
          />
        )}
        <SpanList job={job} />
      </div>
    </Panel>
  );
}

// List of spans. cell=RANK:FROM-TO selects a rank's steps, and sel=FROM-TO selects an interval.
export function SpanList({ job }: { job: JobDetail }) {
  const cell = /^(\d+):(\d+)-(\d+)$/.exec(place.value.query.get("cell") ?? "");
  const picked = selection();
  const [most, setMost] = useState(page);
  const wanted = cell
    ? { rank: cell[1] as string, mode: "train", from_step: cell[2] as string, to_step: cell[3] as string }
    : picked;
  const key = JSON.stringify(wanted);
  const loaded = useLoad<Answer | null>(
    `spans ${job.id} ${key} ${most}`,
    (abort) => (wanted ? get<Answer>("/spans", { job: job.id, ...wanted, limit: most }, abort) : Promise.resolve(null)),
    wanted ? ["samples"] : [],
    job.id,
  );
  if (!wanted) {
    const { from, to } = shownRange(job);
    return (
      <p class="small">
        <button type="button" onClick={() => select({ from, to })}>
          List events in this range
        </button>{" "}
        <span class="dim">or Shift-drag on a chart</span>
      </p>
    );
  }
  const spans = loaded.data?.spans;
  const title = cell
    ? `rank ${cell[1]}, step${Number(cell[3]) - Number(cell[2]) > 1 ? `s ${cell[2]} to ${Number(cell[3]) - 1}` : ` ${cell[2]}`}`
    : `${time(picked?.from ?? null)} to ${time(picked?.to ?? null)}, ${duration(picked ? (bounds(picked)[1] - bounds(picked)[0]) / 1000 : null)}`;
  return (
    <section class="ran" aria-labelledby="ran-title">
      <header class="tools">
        <h3 id="ran-title">Events: {title}</h3>
        <span class="dim small">
          {spans &&
            (loaded.data?.next ? `first ${count(spans.name.length)} events` : plural(spans.name.length, "event"))}
        </span>
        {picked && !cell && (
          <button type="button" onClick={() => zoomTo(...bounds(picked))}>
            Zoom to this range
          </button>
        )}
        <button type="button" onClick={() => setQuery({ sel: "", cell: "" })}>
          Close
        </button>
      </header>
      <Reading loaded={loaded} what="events" />
      {spans && spans.name.length === 0 && <p class="dim">No events in this range.</p>}
      {spans && spans.name.length > 0 && (
        <Scroll label="Events">
          <table class="plain wide" data-spans={spans.name.length}>
            <Head of={["Rank|number", "Node", "Kind", "Name", "Step|number", "Start|number", "Duration|number"]} />
            <tbody>
              {spans.name.map((name, i) => (
                <tr key={i} data-span={`${spans.rank[i]} ${spans.kind[i]} ${name} ${spans.start_ns[i]}`}>
                  <Num>{spans.rank[i] ?? missing}</Num>
                  <td>
                    <Cut text={spans.node[i] || missing} />
                  </td>
                  <td>{spans.kind[i]}</td>
                  <td>
                    <Cut text={name || missing} class="code" />
                  </td>
                  <Num>
                    {spans.step[i] ?? missing}
                    {spans.mode[i] && spans.mode[i] !== "train" ? ` ${spans.mode[i]?.slice(0, 20)}` : ""}
                  </Num>
                  <Num title={exactTime(spans.start_ns[i] as string)}>
                    {exactTime(spans.start_ns[i] as string).slice(11, 23)}
                  </Num>
                  <Num>
                    {duration(Number(BigInt(spans.end_ns[i] as string) - BigInt(spans.start_ns[i] as string)) / 1e9)}
                  </Num>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {loaded.data?.next && (
        <p>
          <button type="button" onClick={() => setMost(most * 5)}>
            Show more
          </button>
        </p>
      )}
    </section>
  );
}
