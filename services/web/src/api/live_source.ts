// Single EventSource for the jobs that all tabs of a browser watch. It runs in the SharedWorker, or in the leading tab
// if the browser does not support SharedWorker.
import type { Topic } from "./types.ts";

export interface LiveEvent {
  topic: Topic | "resync" | "connected" | "disconnected";
  job: string;
}

export const topics: Topic[] = ["job", "samples", "issue", "status", "action", "capture", "notification"];

export class LiveSource {
  private source: EventSource | null = null;
  private shown = "";
  private last = "";
  private retry: ReturnType<typeof setTimeout> | undefined;
  private wait = 1000;
  private readonly watched = new Map<string, string>(); // by tab: a job ID, or "" for all jobs

  constructor(private readonly emit: (event: LiveEvent) => void) {}

  watch(tab: string, job: string | null): void {
    if (job === null) this.watched.delete(tab);
    else this.watched.set(tab, job);
    const jobs = [...new Set(this.watched.values())].sort();
    const wanted = jobs.length === 0 ? "none" : jobs.includes("") ? "" : jobs.map(encodeURIComponent).join(",");
    if (wanted === this.shown && this.source) return;
    this.shown = wanted;
    this.open();
  }

  // Opens a new stream, after a login or a disconnect.
  open(): void {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
    if (this.shown === "none") return;
    const query = [`topics=${topics.join(",")}`];
    if (this.shown) query.push(`jobs=${this.shown}`);
    if (this.last) query.push(`last_event_id=${this.last}`);
    const source = new EventSource(`/api/pitwall/v1/stream?${query.join("&")}`);
    this.source = source;
    source.onopen = () => {
      this.wait = 1000;
      this.emit({ topic: "connected", job: "" });
    };
    source.onerror = () => {
      this.emit({ topic: "disconnected", job: "" });
      // An EventSource does not retry after a status other than 200.
      if (source.readyState === EventSource.CLOSED) this.later();
    };
    for (const topic of topics) {
      source.addEventListener(topic, (event) => {
        const message = event as MessageEvent<string>;
        if (message.lastEventId) this.last = message.lastEventId;
        try {
          this.emit({ topic, job: (JSON.parse(message.data) as { job: string }).job });
        } catch {
          this.emit({ topic: "resync", job: "" });
        }
      });
    }
    source.addEventListener("resync", () => {
      this.last = "";
      this.emit({ topic: "resync", job: "" });
    });
    source.addEventListener("bye", () => {
      source.close();
      this.emit({ topic: "disconnected", job: "" });
      this.later();
    });
  }

  private later(): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, 30_000);
  }
}
