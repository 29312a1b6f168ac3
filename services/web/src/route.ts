// Route of the page. The path and query of the URL contain everything that a link needs.
import { computed, signal } from "@preact/signals";

const here = () => ({ path: location.pathname, query: new URLSearchParams(location.search) });
export const place = signal(here());
addEventListener("popstate", () => {
  place.value = here();
});

// Time as of which the page shows the job. If empty, the page shows the present.
export const asOf = computed(() => place.value.query.get("at") ?? "");

export const jobId = computed(() => {
  const found = /^\/jobs\/(.+)$/.exec(place.value.path);
  if (!found?.[1]) return "";
  try {
    return decodeURIComponent(found[1]);
  } catch {
    return found[1];
  }
});

export const jobPath = (id: string) => `/jobs/${encodeURIComponent(id)}`;

export function go(to: string): void {
  history.pushState(null, "", to);
  place.value = here();
  scrollTo(0, 0);
}

// Sets query parameters. An empty value removes a parameter. Replaces the history entry, so that typing adds no
// entries.
export function setQuery(values: Record<string, string>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}`);
  place.value = here();
}

// Handles plain clicks on internal links without reloading the page.
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element).closest("a");
  if (!link || link.target || link.origin !== location.origin || link.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
