// Asks the server. Whatever goes wrong becomes a `Refused` with the code that the documentation explains.

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
    readonly details?: Record<string, unknown>,
  ) {
    super(message);
  }
}

type Listener = () => void;
let onMissingToken: Listener = () => {};
/** Says who is told that somebody must sign in. */
export const whenSignedOut = (listener: Listener) => {
  onMissingToken = listener;
};

export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, "offline", "the server cannot be reached", "it is tried again; nothing you wrote is lost");
  }
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  let error: { code?: string; message?: string; hint?: string; details?: Record<string, unknown> } = {};
  try {
    error = (JSON.parse(text) as { error?: typeof error }).error ?? {};
  } catch {
    // Something between here and the server has answered.
  }
  if (response.status === 401 && path !== "/v1/session") onMissingToken();
  throw new Refused(response.status, error.code ?? "unknown", error.message ?? `the server answered ${response.status}`, error.hint, error.details);
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown = {}) => call<T>("POST", path, body);

/** A path with its query; what is empty is left out. */
export function query(path: string, fields: Record<string, string | number | undefined>): string {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/** What went wrong, for people. */
export const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));
