import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// A server to work against while the page is changed: `signoff serve --origin http://localhost:5173`.
const server = process.env.SIGNOFF_URL ?? "http://127.0.0.1:8484";

export default defineConfig({
  plugins: [svelte()],
  server: { proxy: { "/v1": { target: server, changeOrigin: true } } },
  build: {
    target: "es2022",
    outDir: "dist",
    // The binary has these files by name, and a change of them is looked at as a diff.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "app.js",
        assetFileNames: "app[extname]",
        codeSplitting: false,
      },
    },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
