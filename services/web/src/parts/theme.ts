// Light or dark theme. Follows the system setting until the user chooses one.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const key = "pitwall-theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(key);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // storage is disabled
  }
}

export const theme = signal<Theme>(stored());
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => {
  systemDark.value = system.matches;
});
// Theme in effect. Charts redraw when it changes.
export const shownTheme = signal<"light" | "dark">("light");

effect(() => {
  const dark = theme.value === "dark" || (theme.value === "system" && systemDark.value);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  shownTheme.value = dark ? "dark" : "light";
  try {
    if (theme.value === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, theme.value);
  } catch {
    // If storage is unavailable, the choice lasts until the tab is closed.
  }
});

export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
