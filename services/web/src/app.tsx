// Page frame: bar, view, login, and list of keyboard shortcuts.
import { useEffect, useRef, useState } from "preact/hooks";
import { Fault, login, loginWanted } from "./api/client.ts";
import { JobView } from "./job/job_view.tsx";
import { JobsView } from "./jobs/jobs_view.tsx";
import { keyList, useKeys } from "./parts/keys.ts";
import { connected } from "./api/live.ts";
import { Mark } from "./parts/parts.tsx";
import { follow, go, jobId, place } from "./route.ts";
import { nextTheme, theme } from "./parts/theme.ts";

function Login() {
  const [fault, setFault] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = (event: Event) => {
    event.preventDefault();
    login(field.current?.value ?? "").catch((error: unknown) =>
      setFault(error instanceof Fault ? error.message : String(error)),
    );
  };
  return (
    <main class="login">
      <form onSubmit={send} class="panel">
        <h1>Pitwall</h1>
        <label for="token">Access token</label>
        <input id="token" ref={field} type="password" autocomplete="current-password" required />
        <button type="submit">Open</button>
        {fault && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </form>
    </main>
  );
}

function KeyTable({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard shortcuts</h2>
      <dl class="keys">
        {keyList.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function Link() {
  const state = connected.value;
  const [mark, text] = state === null ? ["○", "Connecting"] : state ? ["●", "Live"] : ["✕", "Disconnected, retrying"];
  return (
    <span class={`state ${state ? "good" : state === null ? "calm" : "bad"}`} role="status">
      <Mark of={mark} />
      {text}
    </span>
  );
}

export function App() {
  const [keys, setKeys] = useState(false);
  useKeys({
    "?": () => setKeys(true),
    t: nextTheme,
    u: () => go("/"),
    Escape: () => (document.activeElement as HTMLElement | null)?.blur(),
  });
  if (loginWanted.value) return <Login />;
  const { path } = place.value;
  const known = path === "/" || path === "/jobs" || jobId.value;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: links handle keys themselves; this only keeps their clicks in the page.
    // biome-ignore lint/a11y/noStaticElementInteractions: as above.
    <div class="page" onClick={follow}>
      <header class="bar">
        <a href="/" class="brand">
          Pitwall
        </a>
        <nav aria-label="Views">
          <a href="/" aria-current={jobId.value ? undefined : "page"}>
            Jobs
          </a>
        </nav>
        <span class="grow" />
        <Link />
        <span class="dim">Times in UTC</span>
        <button type="button" onClick={nextTheme} title="Switch between system, light, and dark (t)">
          Theme: {theme.value}
        </button>
        <button
          type="button"
          onClick={() => setKeys(true)}
          title="Keyboard shortcuts (?)"
          aria-label="Keyboard shortcuts"
        >
          ?
        </button>
      </header>
      {jobId.value ? (
        <JobView id={jobId.value} />
      ) : known ? (
        <JobsView />
      ) : (
        <main>
          <p class="fault">
            Page not found. <a href="/">All jobs</a>
          </p>
        </main>
      )}
      {keys && <KeyTable close={() => setKeys(false)} />}
    </div>
  );
}
