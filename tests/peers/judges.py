"""Verifiers of others, and the one of the examples, as a server that is told events: PORT=… python judges.py FOLDER

FOLDER is docs/examples/receivers. What it takes and answers is told in judges.mjs.
"""

import base64
import json
import os
import sys
import traceback
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import standardwebhooks.webhooks
import svix.webhooks

sys.path.insert(0, sys.argv[1])
import verify as ours  # noqa: E402


def official(package):
    def judge(body, headers, secret, at):
        webhook = package.Webhook(secret)
        try:
            if at is None:
                webhook.verify(body, headers)
            else:
                time = datetime.fromtimestamp(at, tz=timezone.utc)
                if webhook.sign(headers["webhook-id"], time, body.decode()) != headers["webhook-signature"]:
                    return "another signature"
        except package.WebhookVerificationError as error:
            return str(error)

    return judge


def example(body, headers, secret, at):
    try:
        if ours.verify(body, headers, secret, at) != headers["webhook-id"]:
            raise ValueError("another id")
    except ours.Refused as refused:
        return refused.kind


JUDGES = {
    "/standardwebhooks": official(standardwebhooks.webhooks),
    "/svix": official(svix.webhooks),
    "/verify": example,
}
secrets = {}
last = {}


class Handler(BaseHTTPRequestHandler):
    def answered(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.command == "GET":
            return 200, json.dumps(last.get(self.path))
        if self.command == "PUT":
            secrets[self.path] = body.decode()
            return 204, ""
        headers = {name.lower(): value for name, value in self.headers.items()}
        last[self.path] = {"headers": headers, "body": base64.b64encode(body).decode()}
        at = headers.get("judge-at")
        refused = JUDGES[self.path](body, headers, secrets[self.path], None if at is None else int(at))
        return (204, "") if refused is None else (401, refused)

    def do_GET(self):
        try:
            status, words = self.answered()
        except Exception:
            status, words = 500, traceback.format_exc()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(words.encode())

    do_POST = do_PUT = do_GET

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
