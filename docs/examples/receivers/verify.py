"""Verifies a message of Lessor, or of whoever else signs as Standard Webhooks (https://www.standardwebhooks.com) say.

Copy it: it needs Python 3.10 and nothing else.
"""

import base64
import hashlib
import hmac
import re
import time

TOLERANCE = 5 * 60  # seconds, either way: nobody sends an old message again


class Refused(Exception):
    """The message is not to be believed. `kind` is one of:

    secret_invalid     the secret is not the one that was shown
    header_missing
    timestamp_invalid
    signature_wrong    another secret, or not what was sent
    too_old
    too_new            or the clock here is slow
    """

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def verify(body, headers, secret, now=None):
    """The message's id, by which a repeat of it is known.

    `body` is the bytes as they came: JSON that was parsed and written again is not what was signed.
    """
    try:
        encoded = secret.removeprefix("whsec_").rstrip("=")
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        key = b""
    if len(key) < 24:  # an empty one would let everybody sign
        raise Refused("secret_invalid", "the secret is not whsec_ and at least 24 bytes in Base64")
    values = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not values.get(name):
            raise Refused("header_missing", f"there is no {name}")
    id, at, signatures = (values["webhook-" + name] for name in ("id", "timestamp", "signature"))
    if not re.fullmatch("[0-9]{1,12}", at):
        raise Refused("timestamp_invalid", "webhook-timestamp is not in Unix seconds")
    mac = hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(mac)
    # One for each secret: while it is rolled there are two.
    if not any(hmac.compare_digest(expected, one.encode()) for one in signatures.split(" ")):
        raise Refused("signature_wrong", "no signature is by this secret")
    now = time.time() if now is None else now
    if now - int(at) > TOLERANCE:
        raise Refused("too_old", "it was sent more than five minutes ago")
    if int(at) - now > TOLERANCE:
        raise Refused("too_new", "it was sent more than five minutes from now")
    return id
