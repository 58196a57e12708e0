"""A mail server, by aiosmtpd, whose answers a test chooses by the recipient.

Arguments: "plain", or "starttls" with the files of a certificate and its key; "auth" behind either has it ask for
ada's password. The first line that it prints is the port, each further one a mail as JSON.

What stands before the @ chooses: gone is no mailbox, blocked may not be sent to, busy is asked later, spam is refused
when it was read, and of a mail to lost the connection ends instead of an answer.
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

RECIPIENTS = {
    "gone": "550 5.1.1 <gone@example.com>: there is no such mailbox",
    "unknown": "550 there is no such mailbox",
    "blocked": "550 5.7.1 you may not send there",
    "busy": "451 4.3.0 later, please",
}
MESSAGES = {
    "spam": "554 5.6.0 nobody wants that",
    "full": "452 4.2.2 the mailbox is full",
}


def chosen(address):
    return address.split("@")[0]


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        refusal = RECIPIENTS.get(chosen(address))
        if refusal:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        told = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "data": envelope.content.decode(),
            "tls": session.ssl is not None,
        }
        print(json.dumps(told), flush=True)
        to = chosen(envelope.rcpt_tos[0])
        if to == "lost":
            server.transport.abort()
            return "250 nobody hears that"
        return MESSAGES.get(to, "250 taken")


def authenticate(server, session, envelope, mechanism, data):
    is_ada = (data.login, data.password) == (b"ada", b"p@ss")
    return AuthResult(success=is_ada, handled=is_ada)


async def main(arguments):
    settings = {"enable_SMTPUTF8": True}
    if "auth" in arguments:
        settings.update(
            authenticator=authenticate, auth_required=True, auth_require_tls=False
        )
    if arguments[0] == "starttls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments[1], arguments[2])
        settings.update(tls_context=context)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(Handler(), loop=loop, **settings), "127.0.0.1", 0
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(sys.argv[1:]))
