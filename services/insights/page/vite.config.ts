import { defineConfig } from "vite";

const preloadHelper = "\0vite/preload-helper.js";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  worker: { format: "es" },
  plugins: [
    // Vite's own helper preloads what an imported chunk needs: ours needs nothing.
    { name: "plain-imports", enforce: "pre", load: (id) => (id === preloadHelper ? "export const __vitePreload = (load) => load();" : null) },
  ],
  build: {
    outDir: "dist",
    target: "es2022",
    // A data: URI of an asset would be a second copy of it, and inline styles are against the CSP.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
});
