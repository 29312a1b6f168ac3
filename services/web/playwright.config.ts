import { defineConfig } from "@playwright/test";

// Uses Debian's browser, because Playwright's own browser is not available from package registries.
export default defineConfig({
  testDir: "browser",
  testMatch: "*.spec.ts",
  timeout: 30_000,
  expect: { timeout: 8_000 },
  workers: 1,
  reporter: "line",
  outputDir: "test-results",
  use: {
    viewport: { width: 1280, height: 900 },
    timezoneId: "America/New_York",
    launchOptions: {
      executablePath: process.env.PITWALL_BROWSER ?? "/usr/bin/chromium-headless-shell",
      args: ["--no-sandbox", "--disable-gpu"],
    },
  },
});
