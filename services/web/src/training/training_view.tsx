// Training tab: scalars, tensors, and classes.
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { plural } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Cut, Panel, Reading } from "../parts/parts.tsx";
import { jobPath, place, setQuery } from "../route.ts";
import type { TabProps } from "../parts/tab_props.ts";
import type { Job, JobPage, SeriesList } from "../api/types.ts";
import { Classes } from "./classes.tsx";
import { firstRank, ScalarChart, scalarsOf } from "./scalars.tsx";
import { TensorPanel } from "./tensors.tsx";

const page = 6; // charts shown at first

export function TrainingView({ job }: TabProps) {
  const { query } = place.value;
  const steps = query.get("x") !== "time";
  const ghost = query.get("ghost") !== "off";
  const [most, setMost] = useState(page);
  const rank = firstRank(job);
  // New names rarely appear while the job runs.
  const list = useLoad<SeriesList>(
    `scalars ${job.id} ${job.state}`,
    (abort) =>
      get(
        "/series",
        { job: job.id, match: `{__name__=~"train_.+",rank=~"|${Number.isFinite(rank) ? rank : 0}"}`, limit: 20_000 },
        abort,
      ),
    ["job", "samples"],
    job.id,
  );
  const runs = useLoad<JobPage | null>(`runs ${job.name}`, (abort) =>
    job.name
      ? get<JobPage>("/jobs", { name: job.name.slice(0, 200), sort: "started", limit: 50 }, abort)
      : Promise.resolve(null),
  );
  const started = (one: Job) => BigInt(one.started_ns ?? one.first_ns ?? 0);
  const last =
    runs.data?.jobs
      .filter((one) => one.name === job.name && one.id !== job.id && started(one) < started(job))
      .sort((a, b) => (started(b) > started(a) ? 1 : -1))[0] ?? null;
  if (!list.data) return <Reading loaded={list} what="training metrics" />;
  const scalars = scalarsOf(list.data);
  return (
    <>
      <div class="tools">
        <fieldset class="choice">
          <legend class="sr">Chart axis</legend>
          {(
            [
              ["By step", ""],
              ["By time", "time"],
            ] as const
          ).map(([text, x]) => (
            <button key={text} type="button" aria-pressed={steps === (x === "")} onClick={() => setQuery({ x })}>
              {text}
            </button>
          ))}
        </fieldset>
        {last ? (
          <>
            <button type="button" aria-pressed={ghost} onClick={() => setQuery({ ghost: ghost ? "off" : "" })}>
              {ghost ? "✓ " : ""}Compare with last run
            </button>
            <span class="dim small">
              <a href={jobPath(last.id)}>
                <Cut text={last.id} />
              </a>
            </span>
          </>
        ) : (
          <span class="dim small">
            {runs.data?.missing
              ? `Earlier runs may be missing: ${runs.data.missing.join("; ").slice(0, 300)}`
              : runs.data
                ? "No earlier run with this name"
                : ""}
          </span>
        )}
        <span class="grow" />
        <span class="dim small">Drag to zoom (on all tabs) · Double-click for the whole job</span>
      </div>
      <h2 class="sr">Scalars</h2>
      {scalars.length === 0 && (
        <Panel title="Scalars" id="scalars-title">
          <div class="empty dim">
            <p>No values have been logged with a step.</p>
            <p>
              In the training script, pitwall.log(loss=…, learning_rate=…) logs any number by name. pitwall.watch(model,
              optimizer=…, loss=…) logs loss, learning rate, and gradient norm automatically.
            </p>
          </div>
        </Panel>
      )}
      <div class="plots">
        {scalars.slice(0, most).map((scalar) => (
          <ScalarChart key={scalar.name} job={job} scalar={scalar} steps={steps} last={ghost ? last : null} />
        ))}
      </div>
      {scalars.length > most && (
        <p class="more">
          <button type="button" onClick={() => setMost(most + 4 * page)}>
            Show {plural(Math.min(4 * page, scalars.length - most), "more chart")}
          </button>
        </p>
      )}
      <TensorPanel job={job} />
      <Classes job={job} list={list.data} />
    </>
  );
}
