"""Signs and verifies messages with the processor's own Python package.

Reads JSON lines: {"do": "sign" | "verify", "body": base64, "secret", "at" | "header"}.
Answers a line to each: {"header"} or {"good"}.
"""

import base64
import json
import sys

import stripe


def answer(asked):
    body = base64.b64decode(asked["body"])
    if asked["do"] == "sign":
        signed = "%d.%s" % (asked["at"], body.decode())
        signature = stripe.WebhookSignature._compute_signature(signed, asked["secret"])
        return {"header": "t=%d,v1=%s" % (asked["at"], signature)}
    try:
        stripe.Webhook.construct_event(body, asked["header"], asked["secret"], tolerance=300)
    except (stripe.SignatureVerificationError, ValueError):
        return {"good": False}
    return {"good": True}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
