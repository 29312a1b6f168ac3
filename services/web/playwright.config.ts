import { defineConfig } from "@playwright/test";

// Debian's browser: Playwright's own cannot be had where only package registries are reached.
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
    launchOptions: { executablePath: process.env.PITWALL_BROWSER ?? "/usr/bin/chromium-headless-shell", args: ["--no-sandbox", "--disable-gpu"] },
  },
});
