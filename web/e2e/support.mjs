// Everything a test needs.
export * from "./accessible.mjs";
export * from "./browser.mjs";
export * from "./server.mjs";
export * from "./wire.mjs";
