// Data of a view, reloaded when its key or the underlying data changes. The last response stays until the next one
// arrives.
import { useEffect, useRef, useState } from "preact/hooks";
import { Fault, get, sessions } from "./client.ts";
import { listen } from "./live.ts";
import { asOf } from "../route.ts";
import type { Issue, Rule, Topic } from "./types.ts";

export interface Loaded<T> {
  data: T | null;
  fault: Fault | null;
  loading: boolean;
  again: () => void;
}

const pauseMs = 1000; // minimum time between two responses of a live view
const pauses = 4; // minimum time between two requests, as a multiple of the last response time

// Changes to `job` ("" for any job) in one of the `topics` reload the data. A response for another `what` with the same
// `kept` stays visible until the new one arrives, for example while a chart's range changes. `eager` is a factor for
// the reload rate.
export function useLoad<T>(
  what: string,
  read: (abort: AbortSignal) => Promise<T>,
  topics: Topic[] = [],
  job = "",
  kept = what,
  eager = 1,
): Loaded<T> {
  const key = `${what} ${asOf.value}`;
  const keep = `${kept} ${asOf.value}`;
  const [state, setState] = useState<{ keep: string; data: T | null; fault: Fault | null; loading: boolean }>({
    keep,
    data: null,
    fault: null,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const session = sessions.value;
  const reader = useRef(read);
  reader.current = read;
  const wanted = topics.join(",");
  const took = useRef(0);
  const came = useRef(0);

  // The key represents all values that `read` captures.
  useEffect(() => {
    const abort = new AbortController();
    const began = performance.now();
    setState((was) => ({ keep, data: was.keep === keep ? was.data : null, fault: null, loading: true }));
    reader.current(abort.signal).then(
      (data) => {
        came.current = performance.now();
        took.current = came.current - began;
        if (!abort.signal.aborted) setState({ keep, data, fault: null, loading: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const fault = error instanceof Fault ? error : new Fault(0, "internal", `page: ${String(error)}`);
        setState((was) => ({ ...was, fault, loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, turn, session]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let due = false;
    const refresh = () => {
      // A hidden tab reloads once when it becomes visible.
      if (document.hidden) {
        due = true;
        return;
      }
      timer ??= setTimeout(
        () => {
          timer = undefined;
          due = false;
          setTurn((n) => n + 1);
        },
        Math.max(pauseMs, pauses * took.current) / eager + came.current - performance.now(),
      );
    };
    const seen = () => {
      if (!document.hidden && due) refresh();
    };
    const stop = listen((event) => {
      if (event.topic === "resync" || ((job === "" || event.job === job) && wanted.split(",").includes(event.topic)))
        refresh();
    });
    document.addEventListener("visibilitychange", seen);
    return () => {
      stop();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [wanted, job]);

  const current = state.keep === keep;
  return {
    data: current ? state.data : null,
    fault: current ? state.fault : null,
    loading: state.loading,
    again: () => setTurn((n) => n + 1),
  };
}

// Loads an API path for a job.
export function useJob<T>(
  path: string,
  job: string,
  topics: Topic[],
  more: Record<string, string | number | undefined> = {},
): Loaded<T> {
  return useLoad<T>(
    `${path} ${job} ${Object.values(more)}`,
    (abort) => get(path, { job, ...more }, abort),
    topics,
    job,
  );
}

export const useIssues = (job: string) =>
  useJob<{ issues: Issue[]; total: number }>("/issues", job, ["issue"], { limit: 1000 });
export const useRules = (job: string) => useJob<{ rules: Rule[] }>("/rules", job, ["status", "issue", "action"]);
