// Tensor statistics by collection: a table of the latest values, and a heat map of one statistic by layer and step.
import { columns } from "../charts/columns.ts";
import { GridMap } from "../charts/grid_map.tsx";
import { chartKey, rangeOf, resetRange } from "../charts/range.ts";
import { count, digits, plural, sentence } from "../parts/format.ts";
import { useJob, useLoad } from "../api/load.ts";
import { Cut, Failed, Head, Num, Panel, Reading, Scroll } from "../parts/parts.tsx";
import { place, setQuery } from "../route.ts";
import type { JobDetail, Tensors } from "../api/types.ts";
import { zoomToSteps } from "../nodes/ranks_steps.tsx";
import { firstRank } from "./scalars.tsx";

const most = 1000;
const preferred = ["abs_mean", "l2", "std", "mean"];
const many = 100; // ratio of maximum to minimum above which colors are by power of ten

export function TensorPanel({ job }: { job: JobDetail }) {
  const { query } = place.value;
  const rank = String(Number.isFinite(firstRank(job)) ? firstRank(job) : 0);
  const newest = useJob<Tensors>("/tensors", job.id, ["samples"], { rank, limit: most });
  const tensors = newest.data?.tensors ?? [];
  const collections = [...new Set(tensors.map((one) => one.collection))].sort();
  const collection =
    collections.find((one) => one === query.get("collection")) ??
    collections.find((one) => one === "gradients") ??
    collections[0] ??
    "";
  const rows = tensors.filter((one) => one.collection === collection);
  const statistics = [...new Set(rows.flatMap((one) => Object.keys(one.statistics)))].sort();
  const statistic =
    statistics.find((one) => one === query.get("stat")) ??
    preferred.find((one) => statistics.includes(one)) ??
    statistics[0] ??
    "";
  const range = rangeOf(job);
  const name = `layers ${job.id} ${collection} ${statistic}`;
  const map = useLoad(
    `${name} ${chartKey()}`,
    (abort) =>
      statistic
        ? columns(
            {
              job: job.id,
              match: `train_tensor_${statistic}{collection=${JSON.stringify(collection)},rank=~"|${rank}"}`,
              axis: "step",
              mode: "train",
              width: 400,
              ...range,
            },
            abort,
          )
        : Promise.resolve(null),
    ["samples"],
    job.id,
    name,
  );
  const series = map.data?.series ?? [];
  const steps = [...new Set(series.flatMap((one) => Array.from(one.at)))].sort((a, b) => a - b);
  const column = new Map(steps.map((step, i) => [step, i]));
  const cells = series.map((one) => {
    const out = new Array<number | null>(steps.length).fill(null);
    one.at.forEach((step, i) => {
      const value = one.last[i] as number;
      if (Number.isFinite(value)) out[column.get(step) as number] = value;
    });
    return out;
  });
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of cells.flat()) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const powers = low > 0 && high > many * low;
  const choice = (label: string, key: string, all: string[], value: string) => (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => setQuery({ [key]: event.currentTarget.value })}>
        {all.map((one) => (
          <option key={one}>{one.slice(0, 100)}</option>
        ))}
      </select>
    </label>
  );
  return (
    <Panel
      title="Tensors"
      id="tensors-title"
      note={
        tensors.length
          ? `${newest.data?.next ? `first ${count(most)} tensors` : plural(tensors.length, "tensor")}, rank ${rank}`
          : ""
      }
    >
      <div class="pad">
        <Reading loaded={newest} what="tensors" />
        {newest.data && tensors.length === 0 && (
          <p class="dim">
            No tensor statistics. In the training script, pitwall.watch(model, optimizer=…, loss=…) sends them, every
            500 steps by default. Its argument collections= selects which tensors and how often.
          </p>
        )}
        {tensors.length > 0 && (
          <>
            <div class="tools">
              {choice("Collection", "collection", collections, collection)}
              {choice("Statistic", "stat", statistics, statistic)}
            </div>
            {map.fault && <Failed fault={map.fault} again={map.again} what="layers by step" />}
            {series.length > 0 && (
              <GridMap
                rows={series.map((one, i) => ({
                  key: one.labels.tensor ?? String(i),
                  label: one.labels.tensor ?? "",
                  cells: powers
                    ? (cells[i] ?? []).map((value) => (value === null ? null : Math.log10(value)))
                    : (cells[i] ?? []),
                }))}
                low={powers ? Math.log10(low) : low}
                high={powers ? Math.log10(high) : high}
                format={(value) => digits(powers ? 10 ** value : value)}
                columnName={(i) => `step ${steps[i]}`}
                from={0}
                to={Math.max(1, steps.length)}
                hint={`; drag to zoom${powers ? "; colors by power of ten" : ""}`}
                label={`${statistic} of ${plural(series.length, "tensor")} by step; the table below has the latest values`}
                reset={resetRange}
                zoom={(a, b) =>
                  void zoomToSteps(
                    job.id,
                    steps[Math.floor(a)] ?? 0,
                    steps[Math.min(steps.length - 1, Math.floor(b))] ?? 0,
                  )
                }
              />
            )}
            <Scroll label="Latest tensor statistics">
              <table class="plain wide natural">
                <Head
                  of={[
                    "Tensor",
                    "Step|number",
                    ...statistics.map((one) => `${sentence(one.replaceAll("_", " ")).replace("Nan", "NaN")}|number`),
                  ]}
                />
                <tbody>
                  {rows.map((row) => (
                    <tr key={`${row.tensor} ${row.mode}`}>
                      <th scope="row">
                        <Cut text={`${row.tensor}${row.mode === "train" ? "" : ` (${row.mode})`}`} class="code name" />
                      </th>
                      <Num>{row.step === null ? "–" : count(row.step)}</Num>
                      {statistics.map((one) => (
                        <Num key={one}>{digits(row.statistics[one] ?? null)}</Num>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          </>
        )}
      </div>
    </Panel>
  );
}
