"""Takes what signoff sends: checks who sent it and when, and does each event once."""

import base64, hashlib, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["OPS_WEBHOOK_SECRET"]
KEY = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
seen = set()  # keep it where it outlives a restart, for as long as the tolerance at least


def is_genuine(headers, body):
    event, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent.isdigit() or abs(time.time() - int(sent)) > 300:
        return False  # too old: somebody may be repeating it
    digest = hmac.digest(KEY, f"{event}.{sent}.".encode() + body, hashlib.sha256)
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split()  # several, while a secret is changed
    return any(hmac.compare_digest(expected, signature) for signature in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if not is_genuine(self.headers, body):
            return self.answer(401)
        event = json.loads(body)
        if event["id"] not in seen:
            seen.add(event["id"])
            request = event["data"].get("request", {})
            print(event["type"], request.get("id"), request.get("status"), flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print("listens on", server.server_port, flush=True)
server.serve_forever()
