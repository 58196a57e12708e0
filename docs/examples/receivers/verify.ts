// Verifies a message of Lessor, or of whoever else signs as Standard Webhooks (https://www.standardwebhooks.com) say.
// Copy it: it needs Node.js and nothing else.
import { createHmac, timingSafeEqual } from "node:crypto";

export type Kind =
  | "secret_invalid" // the secret is not the one that was shown
  | "header_missing"
  | "timestamp_invalid"
  | "signature_wrong" // another secret, or not what was sent
  | "too_old"
  | "too_new"; // or the clock here is slow

/** The message is not to be believed. */
export class Refused extends Error {
  readonly kind: Kind;

  constructor(kind: Kind, message: string) {
    super(message);
    this.name = "Refused";
    this.kind = kind;
  }
}

const TOLERANCE = 5 * 60; // seconds, either way: nobody sends an old message again

/**
 * The message's id, by which a repeat of it is known.
 * @param body the bytes as they came: JSON that was parsed and written again is not what was signed
 * @param headers with names in lower case, as `request.headers` of node:http
 * @param now Unix seconds
 */
export function verify(
  body: Uint8Array,
  headers: Record<string, string | string[] | undefined>,
  secret: string,
  now: number = Date.now() / 1000,
): string {
  const encoded = secret.replace(/^whsec_/, "").replace(/=+$/, "");
  const key = Buffer.from(encoded, "base64");
  // What is not Base64 is left out when it is read. An empty key would let everybody sign.
  if (key.length < 24 || key.toString("base64").replace(/=+$/, "") !== encoded)
    throw new Refused("secret_invalid", "the secret is not whsec_ and at least 24 bytes in Base64");
  const [id, at, signatures] = ["id", "timestamp", "signature"].map((name) => {
    const value = headers[`webhook-${name}`];
    if (typeof value !== "string" || value === "") throw new Refused("header_missing", `there is no webhook-${name}`);
    return value;
  }) as [string, string, string];
  if (!/^\d{1,12}$/.test(at)) throw new Refused("timestamp_invalid", "webhook-timestamp is not in Unix seconds");
  const mac = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${mac}`);
  // One for each secret: while it is rolled there are two.
  const ours = signatures.split(" ").map((one) => Buffer.from(one));
  if (!ours.some((one) => one.length === expected.length && timingSafeEqual(one, expected)))
    throw new Refused("signature_wrong", "no signature is by this secret");
  if (now - Number(at) > TOLERANCE) throw new Refused("too_old", "it was sent more than five minutes ago");
  if (Number(at) - now > TOLERANCE) throw new Refused("too_new", "it was sent more than five minutes from now");
  return id;
}
