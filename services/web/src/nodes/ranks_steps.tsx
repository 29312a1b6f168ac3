// Heat map of ranks by steps, which reveals slow ranks and their events, and a chart of step durations with outliers.
import { useState } from "preact/hooks";
import { GridMap } from "../charts/grid_map.tsx";
import { Plot } from "../charts/plot.tsx";
import { chartKey, rangeOf, resetRange, zoomTo } from "../charts/range.ts";
import { get } from "../api/client.ts";
import { count, digits, duration, missing, msOf, plural } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Cut, Head, Num, Panel, Reading } from "../parts/parts.tsx";
import { setQuery } from "../route.ts";
import type { JobDetail, StepHeatMap, StepRows } from "../api/types.ts";

const slow = 1.3; // times the median; marks a slow cell
const outlier = 2; // times the median of all steps
const mostNamed = 5; // slow ranks labeled in the map and listed in the table
const orders = [
  ["slow", "Slowest first"],
  ["rank", "By rank"],
  ["node", "By node"],
] as const;

interface RankRow {
  at: number; // index of the map's row
  mean: number;
  worst: number;
  column: number; // index of the worst cell
  slow: number; // number of slow cells
}

export function ranking(map: StepHeatMap): RankRow[] {
  return map.rows.map((row, at) => {
    const out: RankRow = { at, mean: 0, worst: 0, column: -1, slow: 0 };
    let n = 0;
    row.cells.forEach((value, column) => {
      if (value === null) return;
      ++n;
      out.mean += value;
      if (value >= slow) ++out.slow;
      if (value > out.worst) [out.worst, out.column] = [value, column];
    });
    if (n) out.mean /= n;
    return out;
  });
}

// Returns the time range in which at least one rank ran the steps.
export async function timeOfSteps(
  job: string,
  from: number,
  to: number,
  abort?: AbortSignal,
): Promise<[number, number] | null> {
  const rows = async (step: number) =>
    (await get<StepRows>("/steps", { job, mode: "train", from_step: step, to_step: step + 1, limit: 10_000 }, abort))
      .rows;
  const [first, last] = [await rows(from), await rows(Math.max(from, to))];
  if (!first.length || !last.length) return null;
  return [Math.min(...first.map((row) => msOf(row.start_ns))), Math.max(...last.map((row) => msOf(row.end_ns)))];
}

export async function zoomToSteps(job: string, from: number, to: number): Promise<void> {
  const time = await timeOfSteps(job, Math.ceil(from), Math.floor(to));
  if (time) zoomTo(...time);
}

export function RanksSteps({ job }: { job: JobDetail }) {
  const range = rangeOf(job);
  const width = Math.max(60, Math.min(500, Math.floor(250_000 / Math.max(1, job.ranks))));
  const read = (basis: string) =>
    useLoad<StepHeatMap>(
      `steps ${basis} ${job.id} ${chartKey()}`,
      (abort) => get("/heatmap/steps", { job: job.id, ...range, width, basis }, abort),
      ["samples"],
      job.id,
      `steps ${basis} ${job.id}`,
    );
  const own = read("own");
  const whole = read("duration");
  const [order, setOrder] = useState<"slow" | "rank" | "node">("slow");
  const map = own.data;
  const ranked = map ? ranking(map) : [];
  const bySlow = [...ranked].sort((a, b) => b.mean - a.mean || b.worst - a.worst);
  const rows =
    order === "slow"
      ? bySlow
      : order === "rank"
        ? ranked
        : [...ranked].sort(
            (a, b) =>
              (map?.rows[a.at]?.node ?? "").localeCompare(map?.rows[b.at]?.node ?? "", "en", { numeric: true }) ||
              a.at - b.at,
          );
  const stepsOf = (column: number) => {
    const first = (map?.from_step ?? 0) + column * (map?.bucket_steps ?? 1);
    return [first, first + (map?.bucket_steps ?? 1)] as const;
  };
  const open = (row: number, column: number) => {
    const rank = map?.rows[rows[row]?.at ?? -1]?.rank;
    if (column >= 0 && rank !== null && rank !== undefined)
      setQuery({ cell: `${rank}:${stepsOf(column).join("-")}`, sel: "" });
    document.getElementById("ran-title")?.scrollIntoView({ block: "center" });
  };
  const steps = whole.data
    ? whole.data.medians_seconds.map((_, i) => (whole.data?.from_step ?? 0) + i * (whole.data?.bucket_steps ?? 1))
    : [];
  const medians = whole.data?.medians_seconds ?? [];
  const slowest = medians.map((median, i) =>
    median === null
      ? null
      : median * (whole.data?.rows ?? []).reduce((most, row) => Math.max(most, row.cells[i] ?? 0), 0),
  );
  const sorted = medians.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1] ?? 0;
  const out = slowest.map((value) => (value !== null && value > outlier * middle ? value : null));
  const outliers = out.filter((value) => value !== null).length;
  const several = (map?.rows.length ?? 0) > 1;
  const line = (name: string, values: (number | null)[]) => ({
    name,
    times: steps,
    min: values,
    max: values,
    last: values,
  });
  return (
    <Panel
      title="Steps of all ranks"
      id="steps-title"
      note={
        map && map.rows.length > 0
          ? `${plural(map.rows.length, "rank")}, steps ${count(map.from_step)} to ${count(map.to_step - 1)}, ${map.bucket_steps > 1 ? `${map.bucket_steps} steps per column` : "one step per column"}`
          : ""
      }
    >
      <div class="pad">
        <Reading loaded={own} what="steps" />
        {map && map.rows.length === 0 && (
          <p class="dim">
            No step ended in this range. Record steps in the training script with pitwall.steps(loader).
          </p>
        )}
        {map && map.rows.length > 0 && (
          <>
            {steps.length > 0 && (
              <Plot
                title="Step duration"
                note={`${plural(outliers, "outlier")} (longer than ${outlier}× the median of ${duration(middle)})`}
                steps
                from={steps[0] as number}
                to={Math.max((steps[0] as number) + 1, steps[steps.length - 1] as number)}
                format={duration}
                empty=""
                lines={[
                  line(several ? "median of ranks" : "duration", medians),
                  ...(several ? [line("slowest rank", slowest)] : []),
                  ...(outliers ? [{ ...line("outliers", out), dots: true, color: 3 }] : []),
                ]}
                zoom={(a, b) => void zoomToSteps(job.id, a, b)}
              />
            )}
            {several && (
              <>
                <header class="tools">
                  <h3>
                    Ranks × steps:{" "}
                    {map.basis === "own"
                      ? "own time, excluding waits for other ranks"
                      : "duration (waits for other ranks are unknown)"}
                    , relative to the median
                  </h3>
                  <fieldset class="choice">
                    <legend class="sr">Rank order</legend>
                    {orders.map(([key, text]) => (
                      <button key={key} type="button" aria-pressed={order === key} onClick={() => setOrder(key)}>
                        {text}
                      </button>
                    ))}
                  </fieldset>
                </header>
                <GridMap
                  rows={rows.map((row) => ({
                    key: String(map.rows[row.at]?.rank),
                    label: `Rank ${map.rows[row.at]?.rank ?? missing}`,
                    cells: map.rows[row.at]?.cells ?? [],
                  }))}
                  first={order === "slow" ? Math.min(mostNamed, ranked.filter((row) => row.slow).length) : 0}
                  low={1}
                  high={1.5}
                  format={(value) => `${digits(value)}×`}
                  label={`Slowness of ${map.rows.length} ranks by step; the table below lists the slowest`}
                  pick={open}
                  hint="; click to list the rank's events, drag to zoom"
                  from={map.from_step}
                  to={map.to_step}
                  zoom={(a, b) => void zoomToSteps(job.id, a, b - 1)}
                  reset={resetRange}
                  columnName={(column) =>
                    map.bucket_steps > 1
                      ? `steps ${stepsOf(column)[0]} to ${stepsOf(column)[1] - 1}`
                      : `step ${stepsOf(column)[0]}`
                  }
                />
                <table class="plain wide" aria-label="Slowest ranks">
                  <Head of={["Slowest ranks", "Node", "Mean|number", "Slow columns|number", "Worst|number", "At"]} />
                  <tbody>
                    {bySlow.slice(0, mostNamed).map((row) => {
                      const of = map.rows[row.at];
                      return (
                        <tr key={row.at}>
                          <th scope="row">Rank {of?.rank ?? missing}</th>
                          <td>
                            <Cut text={of?.node || missing} />
                          </td>
                          <Num>{digits(row.mean)}×</Num>
                          <Num title={`of ${plural(map.columns, "column")}, at least ${slow}× the median`}>
                            {row.slow}
                          </Num>
                          <Num>{digits(row.worst)}×</Num>
                          <td>
                            {row.column >= 0 && (
                              <button
                                type="button"
                                class="link"
                                onClick={() =>
                                  open(
                                    rows.findIndex((one) => one.at === row.at),
                                    row.column,
                                  )
                                }
                              >
                                Step {count(stepsOf(row.column)[0])}
                              </button>
                            )}
                          </td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
              </>
            )}
          </>
        )}
      </div>
    </Panel>
  );
}
