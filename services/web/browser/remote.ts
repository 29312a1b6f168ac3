// Browser that a test in another language controls with one line of JSON per command: `node browser/remote.ts`. Each
// response is {"value": …} or {"error": "…"}. The command "faults" returns the faults of the page (console, CSP,
// requests to other origins).
import { createInterface } from "node:readline";
import { chromium, type Page } from "@playwright/test";

interface Command {
  do: "open" | "wait" | "gone" | "all" | "click" | "text" | "watch" | "seen" | "faults";
  url?: string;
  selector?: string;
  fields?: string[]; // attributes of each element; "": its text
  at?: { x: number; y: number };
  without?: string[]; // selectors of elements to omit from the text
  pattern?: string; // regular expression; the time at which each match first appears is recorded
}

const browser = await chromium.launch({
  executablePath: process.env.PITWALL_BROWSER ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-gpu"],
});
let page: Page | null = null;
let faults: string[] = [];

// Opens the address in a fresh browser context.
async function open(url: string): Promise<void> {
  await page?.context().close();
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    reducedMotion: "reduce",
  });
  page = await context.newPage();
  faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) faults.push(`left its origin: ${request.url()}`);
  });
  await page.goto(url);
}

async function answer(command: Command): Promise<unknown> {
  if (command.do === "open") return open(command.url as string);
  if (command.do === "faults") return faults;
  if (!page) throw new Error("no page is open");
  const found = page.locator(command.selector ?? "main");
  switch (command.do) {
    case "wait":
      return found.first().waitFor({ timeout: 30_000 });
    case "gone":
      return found.first().waitFor({ state: "detached", timeout: 30_000 });
    case "click":
      return found.first().click(command.at ? { position: command.at } : {});
    case "text":
      return found.first().evaluate((element, without) => {
        const copy = element.cloneNode(true) as Element;
        for (const one of copy.querySelectorAll(without.join(",") || "none")) one.remove();
        return copy.textContent;
      }, command.without ?? []);
    // Records the wall time, in seconds, when each match first appears in the element. The page records it because the
    // client may be slow.
    case "watch":
      return page.evaluate(
        ({ selector, pattern }) => {
          const seen: Record<string, number> = {};
          Object.assign(window, { seen });
          const look = () => {
            for (const [text] of (document.querySelector(selector)?.textContent ?? "").matchAll(
              new RegExp(pattern, "g"),
            ))
              seen[text] ??= Date.now() / 1000;
          };
          look();
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
        },
        { selector: command.selector ?? "main", pattern: command.pattern ?? "" },
      );
    case "seen":
      return page.evaluate(() => (window as unknown as { seen: Record<string, number> }).seen);
    default:
      return found.evaluateAll(
        (all, fields) => all.map((one) => fields.map((name) => (name ? one.getAttribute(name) : one.textContent))),
        command.fields ?? [""],
      );
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify({ value: (await answer(JSON.parse(line) as Command)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
await browser.close();
