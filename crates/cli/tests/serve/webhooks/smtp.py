"""A mail server for tests: takes mails, and prints each as a line of JSON.

Arguments: port, how it is spoken to (none, starttls or wrapper), and a folder where it leaves the certificate to trust.
"""

import email
import email.policy
import json
import ssl
import sys

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult

PORT, TLS, FOLDER = int(sys.argv[1]), sys.argv[2], sys.argv[3]
tried = {}


def body(mail, kind):
    part = mail.get_body((kind,))
    return part.get_content() if part else None


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        tried[address] = tried.get(address, 0) + 1
        if address.startswith("gone"):
            return "550 5.1.1 no mailbox called " + address
        if address.startswith("busy") and tried[address] == 1:
            return "451 4.3.0 later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        defects = list(mail.defects) + [d for value in mail.values() for d in value.defects]
        for part in mail.walk():
            defects += part.defects
        told = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "headers": {name.lower(): str(value) for name, value in mail.items()},
            "names": [name.lower() for name in mail.keys()],
            "plain": body(mail, "plain"),
            "html": body(mail, "html"),
            "defects": [repr(defect) for defect in defects],
            "user": (session.auth_data or b"").decode(),
            "tls": server.transport.get_extra_info("ssl_object") is not None,
        }
        print(json.dumps(told), flush=True)
        return "250 taken"


def sign_in(server, session, envelope, mechanism, data):
    known = data.login == b"signoff" and data.password == b"hunter2"
    return AuthResult(success=known, handled=False, auth_data=data.login)


class Server(Controller):
    def factory(self):
        return SMTP(
            self.handler,
            authenticator=sign_in,
            auth_required=True,
            auth_require_tls=TLS == "starttls",
            require_starttls=TLS == "starttls",
            tls_context=context if TLS == "starttls" else None,
            enable_SMTPUTF8=True,
        )


context = None
if TLS != "none":
    authority = trustme.CA()
    authority.cert_pem.write_to_path(FOLDER + "/trusted.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
server = Server(
    Handler(), hostname="127.0.0.1", port=PORT, ready_timeout=60,
    ssl_context=context if TLS == "wrapper" else None,
)
server.start()
print("listens", flush=True)
sys.stdin.read()
