// Tab that ranks an interval's series by their difference from the past and from their peers, and estimates step
// durations without a rank.
import { get } from "../api/client.ts";
import { lineName } from "../issues/evidence_chart.tsx";
import { count, digits, duration, percent, plural, time } from "../parts/format.ts";
import { useIssues, useLoad } from "../api/load.ts";
import { Cut, Head, Num, Panel, Reading } from "../parts/parts.tsx";
import { chosenRange } from "../charts/range.ts";
import { place, setQuery } from "../route.ts";
import type { TabProps } from "../parts/tab_props.ts";
import type { Differs, Issue, JobDetail, WhatIf } from "../api/types.ts";

function Cost({ job, rank }: { job: JobDetail; rank: string }) {
  const loaded = useLoad<WhatIf>(`what-if ${job.id} ${rank} ${job.last_ns}`, (abort) =>
    get("/what-if", { job: job.id, rank }, abort),
  );
  const cost = loaded.data;
  if (!cost || loaded.fault) return <Reading loaded={loaded} what="the what-if analysis" />;
  return (
    <p class="pad" data-field="what-if" data-share={cost.saved_share ?? ""}>
      {cost.computable ? (
        <>
          Without rank {rank}, a step would take <strong>{duration(cost.without_seconds)}</strong> instead of{" "}
          <strong>{duration(cost.step_seconds)}</strong> ({percent(cost.saved_share)} less). Based on{" "}
          {cost.basis === "own" ? "each rank's own time, excluding waits in collectives," : "step durations"} over{" "}
          {plural(cost.steps, "step")}
          {cost.left_out ? `; ${plural(cost.left_out, "step")} without data from every rank excluded` : ""}.
        </>
      ) : (
        <>Cannot be computed: {cost.reason}</>
      )}
    </p>
  );
}

// Returns the selected range. Without a selection, returns the range of the first open issue, else of the first issue,
// else the last tenth of the job.
function intervalOf(job: JobDetail, issues: Issue[]): { from: string; to: string; why: string } | null {
  const chosen = chosenRange(job);
  if (chosen.from && chosen.to) return { from: chosen.from, to: chosen.to, why: "selected range" };
  if (job.first_ns === null || job.last_ns === null) return null;
  const issue = issues.find((one) => one.open) ?? issues[0];
  const last = BigInt(job.last_ns) + 1n;
  if (issue?.active_since_ns)
    return { from: issue.active_since_ns, to: issue.ended_ns ?? String(last), why: `issue ${issue.alert}` };
  return {
    from: String(last - (last - BigInt(job.first_ns)) / 10n - 1n),
    to: String(last),
    why: "last tenth of the job",
  };
}

export function DiffersView({ job }: TabProps) {
  const issues = useIssues(job.id);
  const ranks = [...new Set(job.sources.flatMap((source) => (source.rank === null ? [] : [source.rank])))].sort(
    (a, b) => a - b,
  );
  const suspect = issues.data?.issues.find((one) => one.open && one.labels.rank)?.labels.rank ?? "";
  const asked = place.value.query.get("rank") ?? "";
  const rank = ranks.map(String).includes(asked) ? asked : asked === "all" ? "" : suspect;
  const interval = issues.data ? intervalOf(job, issues.data.issues) : null;
  const match = rank ? `{rank="${rank}"}` : "";
  const loaded = useLoad<Differs | null>(`differs ${interval?.from} ${interval?.to} ${match}`, (abort) =>
    interval
      ? get<Differs>("/differs", { job: job.id, from: interval.from, to: interval.to, match, limit: 30 }, abort)
      : Promise.resolve(null),
  );
  if (issues.fault) return <Reading loaded={issues} what="issues" />;
  const rows = loaded.data?.series ?? [];
  const most = Math.max(1e-9, ...rows.map((row) => row.effect ?? 0));
  return (
    <>
      <Panel
        title="What differs"
        id="differs-title"
        note={
          loaded.data
            ? `${time(loaded.data.from_ns)} to ${time(loaded.data.to_ns)}, ${interval?.why}; ${count(loaded.data.compared)} series compared`
            : ""
        }
      >
        <p class="asks">
          <label>
            Scope
            <select value={rank || "all"} onChange={(event) => setQuery({ rank: event.currentTarget.value })}>
              <option value="all">all ranks and nodes</option>
              {ranks.map((one) => (
                <option key={one} value={String(one)}>
                  rank {one}
                  {String(one) === suspect ? " (suspect)" : ""}
                </option>
              ))}
            </select>
          </label>
          <span class="dim">
            Compares each series in the interval with the preceding period (four times as long) and with the same series
            on other ranks, GPUs, or nodes.
          </span>
        </p>
        <Reading loaded={loaded} what="the comparison" />
        {loaded.data && rows.length === 0 && <p class="dim pad">No series has samples in this interval.</p>}
        {rows.length > 0 && (
          <table class="wide">
            <Head
              of={[
                "Effect|w-effect",
                "Series",
                "During|w-number number",
                "Before|w-number number",
                "Change|w-number number",
                "Peers|w-number number",
                "vs peers|w-number number",
              ]}
            />
            <tbody>
              {rows.map((row) => (
                <tr key={lineName(row.labels)}>
                  <td>
                    <svg width="92" height="9" aria-hidden="true">
                      <rect class="effect-bar" width={90 * ((row.effect ?? 0) / most)} height="9" rx="2" />
                    </svg>{" "}
                    <span class="number">{digits(row.effect)}</span>
                  </td>
                  <th scope="row">
                    <Cut text={lineName(row.labels)} class="code" />
                  </th>
                  <Num>{digits(row.mean)}</Num>
                  <Num>{digits(row.before)}</Num>
                  <Num>{digits(row.before_effect)}</Num>
                  <Num>
                    {digits(row.peers)}
                    {row.peer_count ? <span class="dim"> ({row.peer_count})</span> : ""}
                  </Num>
                  <Num>{digits(row.peers_effect)}</Num>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      <Panel title="What if" id="what-if-title" note="step duration without one of the ranks">
        {rank ? <Cost job={job} rank={rank} /> : <p class="dim pad">Select a rank above.</p>}
      </Panel>
    </>
  );
}
