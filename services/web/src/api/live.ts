// Live events from the server for this tab, received through the SharedWorker or the leading tab.
import { signal } from "@preact/signals";
import { sessions } from "./client.ts";
import { type LiveEvent, LiveSource } from "./live_source.ts";
import workerUrl from "./live_worker.ts?worker&url";

export const connected = signal<boolean | null>(null); // null: unknown
type Listener = (event: LiveEvent) => void;
const listeners = new Set<Listener>();

function hear(event: LiveEvent): void {
  if (event.topic === "connected" || event.topic === "disconnected") {
    const was = connected.value;
    connected.value = event.topic === "connected";
    // This tab missed the intervening events.
    if (was === false && connected.value) for (const listener of listeners) listener({ topic: "resync", job: "" });
    return;
  }
  for (const listener of listeners) listener(event);
}

interface Feed {
  watch(job: string | null): void;
  reopen(): void;
}

function sharedFeed(): Feed {
  const named = (url: string): string => url;
  const policy = window.trustedTypes?.createPolicy("pitwall-worker", { createScriptURL: named });
  const url = policy ? policy.createScriptURL(workerUrl) : workerUrl;
  const worker = new SharedWorker(url as string, { type: "module", name: "pitwall-live" });
  let watched: string | null = null;
  worker.port.onmessage = (message: MessageEvent<LiveEvent>) => hear(message.data);
  setInterval(() => worker.port.postMessage(watched === null ? { leave: true } : { watch: watched }), 30_000);
  addEventListener("pagehide", () => worker.port.postMessage({ leave: true }));
  addEventListener("pageshow", () => {
    if (watched !== null) worker.port.postMessage({ watch: watched });
  });
  return {
    watch(job) {
      watched = job;
      worker.port.postMessage(job === null ? { leave: true } : { watch: job });
    },
    reopen: () => worker.port.postMessage({ reopen: true }),
  };
}

// Feed for browsers without SharedWorker. The tab that holds the lock streams events for all jobs and forwards them to
// the other tabs.
function electedFeed(): Feed {
  const channel = new BroadcastChannel("pitwall-live");
  const source = new LiveSource((event) => {
    hear(event);
    channel.postMessage(event);
  });
  channel.onmessage = (message: MessageEvent<LiveEvent>) => hear(message.data);
  let leads = false;
  const lead = () => {
    leads = true;
    source.watch("all", "");
    return new Promise<void>(() => undefined); // holds the lock until the tab closes
  };
  if (navigator.locks) void navigator.locks.request("pitwall-live", lead);
  else void lead();
  return {
    watch: () => undefined,
    reopen: () => {
      if (leads) source.open();
    },
  };
}

let feed: Feed | null = null;

// `job` is an ID, "" for all jobs, or null for no job.
export function watch(job: string | null): void {
  feed ??= typeof SharedWorker === "undefined" ? electedFeed() : sharedFeed();
  feed.watch(job);
}

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

sessions.subscribe((n) => {
  if (n > 0) feed?.reopen();
});
