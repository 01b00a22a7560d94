// What stands between a browser and a server.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createServer as createTls } from "node:https";
import { join } from "node:path";

/** What stands between a browser and a server, and can be cut. */
export async function wire(server) {
  const [host, port] = server.address.split(":");
  const open = new Set();
  let shut = false;
  const between = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: server.address };
    if (headers.origin) headers.origin = server.url;
    const passed = request({ host, port, method: asked.method, path: asked.url, headers }, (came) => {
      answer.writeHead(came.statusCode, came.headers);
      answer.flushHeaders();
      came.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  between.on("connection", (socket) => {
    if (shut) return socket.destroy();
    open.add(socket);
    return socket.on("close", () => open.delete(socket));
  });
  await new Promise((ready) => between.listen(0, "127.0.0.1", ready));
  const address = `127.0.0.1:${between.address().port}`;
  return {
    address,
    url: `http://${address}`,
    cut() {
      for (const it of open) it.destroy();
    },
    shut() {
      shut = true;
      this.cut();
    },
    restore() {
      shut = false;
    },
    close() {
      between.close();
      this.cut();
    },
  };
}

/** What speaks TLS for a server, as it stands before one: it knows the server by its own name, and browsers by theirs. */
export async function tls(folder) {
  const [key, cert] = ["key.pem", "cert.pem"].map((it) => join(folder, it));
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert], { stdio: "ignore" });
  let server;
  const front = createTls({ key: readFileSync(key), cert: readFileSync(cert) }, (asked, answer) => {
    const [host, port] = server.address.split(":");
    const passed = request({ host, port, method: asked.method, path: asked.url, headers: { ...asked.headers, host: server.address, "x-forwarded-proto": "https" } }, (came) => {
      answer.writeHead(came.statusCode, came.headers);
      answer.flushHeaders();
      came.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise((ready) => front.listen(0, "127.0.0.1", ready));
  const address = `127.0.0.1:${front.address().port}`;
  return {
    address,
    url: `https://${address}`,
    to(other) {
      server = other;
    },
    close() {
      front.closeAllConnections();
      front.close();
    },
  };
}
