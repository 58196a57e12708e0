"""Takes messages of Lessor on port 8000, each once: WEBHOOK_SECRET=whsec_… python3 receiver.py"""

import json
import os
import sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer

from verify import Refused, verify

books = sqlite3.connect("books.db")
books.execute("create table if not exists seen (id text primary key)")
books.execute("create table if not exists tasks (type text, subject text)")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            id = verify(body, self.headers, os.environ.get("WEBHOOK_SECRET", ""))
        except Refused as refused:
            return self.answer(401, refused.kind)
        with books:  # one transaction: seen and done, or neither
            is_new = books.execute("insert or ignore into seen values (?)", [id]).rowcount
            if is_new:  # here is what you do
                event = json.loads(body)
                books.execute("insert into tasks values (?, ?)", [event["type"], event["subject"]["id"]])
        self.answer(200, "done" if is_new else "seen before")

    def answer(self, status, words):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(words.encode())


HTTPServer(("", int(os.environ.get("PORT", 8000))), Receiver).serve_forever()
