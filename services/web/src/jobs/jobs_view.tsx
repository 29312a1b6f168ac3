// List of all jobs with state, worst open issue, and GPU utilization.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { count, duration, plural, secondsBetween, sentence } from "../parts/format.ts";
import { useKeys } from "../parts/keys.ts";
import { watch } from "../api/live.ts";
import { useLoad } from "../api/load.ts";
import { Cut, JobState, Num, Reading, Severity, Time } from "../parts/parts.tsx";
import { jobPath, place, setQuery } from "../route.ts";
import type { Job, JobPage } from "../api/types.ts";
import { UseLine } from "./use_line.tsx";

const rowHeight = 40;
const spare = 8; // rows rendered beyond each edge of the window
const most = 20_000;
const states = ["all", "running", "ended"];
const sorts: [string, string][] = [
  ["last", "Last seen"],
  ["started", "Started"],
  ["name", "Name"],
  ["issues", "Issues"],
  ["samples", "Samples"],
];

interface List {
  jobs: Job[];
  total: number;
  missing: string[];
}

async function readAll(query: Record<string, string>, abort: AbortSignal): Promise<List> {
  const jobs: Job[] = [];
  const missing = new Set<string>();
  let page: string | undefined;
  for (;;) {
    const answer: JobPage = await get<JobPage>("/jobs", { ...query, limit: 1000, ...(page ? { page } : {}) }, abort);
    jobs.push(...answer.jobs);
    for (const one of answer.missing ?? []) missing.add(one);
    page = answer.next ?? undefined;
    if (!page || jobs.length >= most) return { jobs, total: answer.total, missing: [...missing] };
  }
}

function Attempts({ n }: { n: number }) {
  const bars = Math.min(n, 6);
  return (
    <span class="attempts" title={plural(n, "attempt")}>
      <span class="number">{n}</span>
      <span aria-hidden="true">
        {"▮".repeat(bars)}
        {n > bars ? "…" : ""}
      </span>
    </span>
  );
}

function Row({ job, at, marked }: { job: Job; at: number; marked: boolean }) {
  return (
    <tr class={marked ? "marked" : ""} aria-rowindex={at + 2} aria-selected={marked} data-job={job.id}>
      <td>
        <JobState job={job} row />
      </td>
      <th scope="row">
        <a href={jobPath(job.id)} class="cut" title={`${job.name || job.id}\n${job.id}`.slice(0, 500)}>
          {(job.name || job.id).slice(0, 200)}
        </a>
        {job.name && job.name !== job.id && <Cut text={job.id} class="dim small" />}
      </th>
      <td>
        {job.open_issues > 0 ? (
          <>
            <Severity name={job.worst_severity} /> <span class="dim">{count(job.open_issues)} open</span>
          </>
        ) : (
          <span class="dim">{job.found_issues > 0 ? `${count(job.found_issues)} ended` : "none"}</span>
        )}
      </td>
      <td>
        <UseLine job={job} />
      </td>
      <Num>{duration(secondsBetween(job.started_ns ?? job.first_ns, job.done_ns ?? job.last_ns))}</Num>
      <td>
        <Time ns={job.started_ns ?? job.first_ns} />
      </td>
      <Num>{count(job.nodes)}</Num>
      <Num>{count(job.ranks)}</Num>
      <td>
        <Attempts n={job.attempt_count} />
      </td>
      <td>
        <Cut text={job.owner} class="dim" />
      </td>
    </tr>
  );
}

export function JobsView() {
  const query = place.value.query;
  const name = query.get("q") ?? "";
  const state = states.includes(query.get("state") ?? "") ? (query.get("state") as string) : "all";
  const sort = sorts.some(([key]) => key === query.get("sort")) ? (query.get("sort") as string) : "last";
  const order = sort === "name" ? "asc" : "desc";
  const search = useRef<HTMLInputElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const [marked, setMarked] = useState(-1);
  const [shown, setShown] = useState([0, 60]);
  const [asked, setAsked] = useState(name);
  useEffect(() => {
    document.title = "Jobs · Pitwall";
    watch("");
  }, []);
  // Debounces typing.
  useEffect(() => {
    const timer = setTimeout(() => setAsked(name), 200);
    return () => clearTimeout(timer);
  }, [name]);

  const list = useLoad<List>(
    JSON.stringify([asked, state, sort]),
    (abort) => readAll({ name: asked, state, sort, order }, abort),
    ["job", "issue"],
  );
  const jobs = list.data?.jobs ?? [];

  // Computes the rows that the window shows. Reruns when the length of the list changes.
  useEffect(() => {
    const look = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / rowHeight) - spare);
      const end = first + Math.ceil(innerHeight / rowHeight) + 2 * spare;
      setShown((was) => (was[0] === first && was[1] === end ? was : [first, end]));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [jobs.length]);

  // Focuses the row's link, because the link handles Enter.
  const focusRow = (row: number) => {
    if (row >= 0 && document.activeElement !== search.current)
      body.current?.querySelector<HTMLElement>(`[aria-rowindex="${row + 2}"] a`)?.focus({ preventScroll: true });
  };
  const move = (by: number) => {
    if (!jobs.length) return;
    const next = Math.max(0, Math.min(jobs.length - 1, marked + by));
    setMarked(next);
    const top = (body.current?.getBoundingClientRect().top ?? 0) + next * rowHeight;
    if (top < 90 || top > innerHeight - 2 * rowHeight) scrollBy(0, top - innerHeight / 2);
    focusRow(next); // immediately: the next key may be Enter
  };
  // Rows that scroll into view are rendered later.
  useEffect(() => focusRow(marked), [marked, shown]);
  useKeys({
    "/": () => search.current?.focus(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
  });

  const first = Math.min(shown[0] ?? 0, Math.max(0, jobs.length - 1));
  const end = Math.min(shown[1] ?? 0, jobs.length);
  return (
    <main>
      <div class="tools">
        <h1>Jobs</h1>
        <label class="sr" for="search">
          Name or ID
        </label>
        <input
          id="search"
          ref={search}
          type="search"
          placeholder="Name or ID  ( / )"
          value={name}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <fieldset class="choice">
          <legend class="sr">State</legend>
          {states.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={state === one}
              onClick={() => setQuery({ state: one === "all" ? "" : one })}
            >
              {sentence(one)}
            </button>
          ))}
        </fieldset>
        <label>
          Sort by{" "}
          <select
            value={sort}
            onChange={(event) =>
              setQuery({ sort: event.currentTarget.value === "last" ? "" : event.currentTarget.value })
            }
          >
            {sorts.map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <span class="grow" />
        <span class="dim" role="status">
          {list.data
            ? `${plural(list.data.total, "job")}${list.data.total > jobs.length ? `, first ${count(jobs.length)} shown` : ""}`
            : ""}
        </span>
      </div>
      <Reading loaded={list} what="the list of jobs" />
      {!!list.data?.missing.length && (
        <p class="past wrap" role="status">
          <strong>Not all jobs are listed.</strong> {list.data.missing.join("; ").slice(0, 500)}
        </p>
      )}
      {list.data && jobs.length === 0 && (
        <div class="panel empty">
          <p>
            <strong>{name || state !== "all" ? "No jobs match." : "No jobs yet."}</strong>
          </p>
          {name || state !== "all" ? (
            <p>
              <button type="button" onClick={() => setQuery({ q: "", state: "" })}>
                Show all jobs
              </button>
            </p>
          ) : (
            <p class="dim">
              A job appears when its first sample arrives. Start a collector on its nodes, or use the Python client in
              its training script.
            </p>
          )}
        </div>
      )}
      {jobs.length > 0 && (
        <table class="jobs" aria-rowcount={jobs.length + 1}>
          <thead>
            <tr>
              <th scope="col" class="w-state">
                State
              </th>
              <th scope="col">Job</th>
              <th scope="col" class="w-issue">
                Worst open issue
              </th>
              <th scope="col" class="w-use" title="Share of time in which a kernel ran, mean over all GPUs">
                GPU busy
              </th>
              <th scope="col" class="w-time number">
                Duration
              </th>
              <th scope="col" class="w-start">
                Started
              </th>
              <th scope="col" class="w-count number">
                Nodes
              </th>
              <th scope="col" class="w-count number">
                Ranks
              </th>
              <th scope="col" class="w-tries">
                Attempts
              </th>
              <th scope="col" class="w-owner">
                Owner
              </th>
            </tr>
          </thead>
          <tbody ref={body}>
            {first > 0 && (
              <tr class="gap">
                <td colSpan={10} style={{ height: `${first * rowHeight}px` }} />
              </tr>
            )}
            {jobs.slice(first, end).map((job, i) => (
              <Row key={job.id} job={job} at={first + i} marked={first + i === marked} />
            ))}
            {end < jobs.length && (
              <tr class="gap">
                <td colSpan={10} style={{ height: `${(jobs.length - end) * rowHeight}px` }} />
              </tr>
            )}
          </tbody>
        </table>
      )}
    </main>
  );
}
