// A definition as people write it: YAML, from the JSON that the server has.

const plain = /^[A-Za-z_][\w .,()/-]*$/;
const special = /^(true|false|null|yes|no|on|off|~|-?\d.*)$/i;

function scalar(value: unknown, indent: string): string {
  if (typeof value !== "string") return JSON.stringify(value);
  if (value.includes("\n")) return `|\n${value.trimEnd().split("\n").map((line) => (line ? `${indent}${line}` : "")).join("\n")}`;
  return plain.test(value) && !special.test(value) && !value.endsWith(" ") ? value : JSON.stringify(value);
}

const isEmpty = (value: unknown) => value === null || value === undefined || (typeof value === "object" && Object.keys(value as object).length === 0);

export function yaml(value: unknown, indent = ""): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (!value.length) return `${indent}[]\n`;
    return value.map((item) => (typeof item === "object" && item !== null && !isEmpty(item) ? `${indent}- ${yaml(item, deeper).slice(deeper.length)}` : `${indent}- ${scalar(item, deeper)}\n`)).join("");
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .filter(([, it]) => it !== null && it !== undefined)
      .map(([name, it]) => (typeof it === "object" && it !== null && !isEmpty(it) ? `${indent}${scalar(name, "")}:\n${yaml(it, deeper)}` : `${indent}${scalar(name, "")}: ${isEmpty(it) ? (Array.isArray(it) ? "[]" : "{}") : scalar(it, deeper)}\n`))
      .join("");
  }
  return `${indent}${scalar(value, deeper)}\n`;
}
