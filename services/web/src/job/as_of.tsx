// Time travel: with at=TIME in the address, the page shows the job as of that time.
import { computed } from "@preact/signals";
import { address } from "../api/client.ts";
import { time } from "../parts/format.ts";
import { asOf, setQuery } from "../route.ts";
import type { JobDetail } from "../api/types.ts";

const atNs = computed(() => (/^\d+$/.test(asOf.value) ? asOf.value : null));

export function AsOf() {
  const chosen = (event: Event) => {
    const words = (event.currentTarget as HTMLInputElement).value.trim().replace(" ", "T");
    setQuery({ at: words && `${words}${/T\d\d:\d\d$/.test(words) ? ":00" : ""}${/Z$/.test(words) ? "" : "Z"}` });
  };
  const shown = atNs.value ? time(atNs.value) : asOf.value.slice(0, 19).replace("T", " ");
  return (
    <label class="dim">
      As of <input class="at" value={shown} onChange={chosen} placeholder="YYYY-MM-DD hh:mm" />
    </label>
  );
}

export function Past() {
  if (!asOf.value) return null;
  return (
    <p class="past" role="status">
      <strong>
        As of {atNs.value ? time(atNs.value) : asOf.value.slice(0, 40).replace("T", " ").replace("Z", "")}.
      </strong>{" "}
      Later data is not shown.{" "}
      <button type="button" onClick={() => setQuery({ at: "" })}>
        Back to now
      </button>
    </p>
  );
}

export function ReportLink({ job }: { job: JobDetail }) {
  return (
    <a class="button" href={address("/report", { job: job.id, format: "html" })} target="_blank" rel="noreferrer">
      Report
    </a>
  );
}
