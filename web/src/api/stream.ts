// Server-sent events that do not stay away: a browser comes back by itself and says what it saw last; where it gives
// up (the server answered something else, for example because it was starting), it is opened anew.

export interface Listening {
  close(): void;
}

const AGAIN = 1000;

export function listen(
  path: () => string,
  on: Record<string, (data: unknown) => void>,
  live: (is: boolean) => void,
  goesOn: () => boolean = () => true,
): Listening {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  const open = () => {
    if (closed || !goesOn()) return;
    source = new EventSource(path());
    source.onopen = () => live(true);
    source.onerror = () => {
      live(false);
      if (source?.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(open, AGAIN);
    };
    for (const [name, hear] of Object.entries(on)) {
      source.addEventListener(name, (event) => hear(JSON.parse((event as MessageEvent<string>).data)));
    }
  };
  open();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      source?.close();
    },
  };
}
