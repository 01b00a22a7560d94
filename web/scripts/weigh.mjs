// How much a first visit loads, packed. More than the limit is an error.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT = 100_000;
let all = 0;
for (const file of ["index.html", "app.js", "app.css", "favicon.svg"]) {
  const size = gzipSync(readFileSync(new URL(`../dist/${file}`, import.meta.url)), { level: 9 }).length;
  all += size;
  console.log(`${file.padEnd(12)} ${String(size).padStart(7)} bytes`);
}
console.log(`together     ${String(all).padStart(7)} bytes of ${LIMIT}`);
if (all > LIMIT) {
  console.error("error: the page is too heavy");
  process.exit(1);
}
