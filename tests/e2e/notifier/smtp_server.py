#!/usr/bin/env python3
"""smtp_server.py FOLDER CERTIFICATE KEY PORT TLS_PORT: a real SMTP server (aiosmtpd) for tests. PORT uses STARTTLS, and TLS_PORT uses TLS from the
first byte; both require AUTH. Each mail is written to FOLDER/NUMBER.json with its envelope, user, and mechanism.

The server rejects mails whose headers contain "refuse" with 552, and recipients that start with "gone@" with 550.
"""
import json
import os
import signal
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

USER, PASSWORD = b"pitwall", b"s3cret \xc3\xa4"


class Keeper:
    def __init__(self, folder, way):
        self.folder, self.way = folder, way

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("gone@"):
            return "550 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        content = envelope.content.decode("utf-8", "surrogateescape")
        if "refuse" in content.split("\r\n\r\n")[0]:
            return "552 too large for a test"
        name = os.path.join(self.folder, "%s-%06d" % (self.way, len(os.listdir(self.folder))))
        with open(name + ".part", "w") as out:
            json.dump({"from": envelope.mail_from, "to": envelope.rcpt_tos, "content": content, "way": self.way,
                       "encrypted": session.ssl is not None or self.way == "tls", "mechanism": session.auth_data[0]}, out)
        os.rename(name + ".part", name + ".json")
        return "250 kept"


def check(server, session, envelope, mechanism, data):
    if (data.login, data.password) != (USER, PASSWORD):
        return AuthResult(success=False, handled=False)
    return AuthResult(success=True, auth_data=(mechanism,))


def main():
    folder, certificate, key, port, tls_port = sys.argv[1:]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    servers = [
        Controller(Keeper(folder, "starttls"), hostname="127.0.0.1", port=int(port), tls_context=context,
                   require_starttls=True, auth_required=True, authenticator=check),
        Controller(Keeper(folder, "tls"), hostname="127.0.0.1", port=int(tls_port), ssl_context=context,
                   auth_required=True, auth_require_tls=False, authenticator=check)]
    for server in servers:
        server.start()
    print("ready", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    for server in servers:
        server.stop()


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
main()
