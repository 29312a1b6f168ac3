import { defineConfig } from "vite";

// One style sheet serves all tabs and is loaded with the page: a tab's file has nothing to load before it.
const noPreload = {
  name: "no-preload",
  enforce: "pre" as const,
  load: (id: string) => (id === "\0vite/preload-helper.js" ? "export const __vitePreload = (load) => load();" : null),
};

export default defineConfig({
  plugins: [noPreload],
  // Calls of h() with children as arguments: 4 KB less than the automatic runtime's property `children` of each element.
  oxc: { jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" } },
  worker: { format: "es" },
  build: {
    outDir: "dist",
    rolldownOptions: { transform: { inject: { h: ["preact", "h"], Fragment: ["preact", "Fragment"] } } },
    target: "es2022",
    // A data: URI of an asset would be a second copy of it, and inline styles are against the CSP.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
});
