// Verifiers of others, and the one of the examples, as a server that is told events: PORT=… node judges.mjs VERIFY
// VERIFY is docs/examples/receivers/verify.ts, compiled. Each has a path: PUT gives it a secret, POST a message, and GET
// answers the last message that came, {"headers", "body": base64}. With the header `judge-at`, Unix seconds, a message is
// judged as of then. 204: it is believed. 401: it is not, and why. Anything else is no verdict.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import * as standardwebhooks from "standardwebhooks";
import * as svix from "svix";

const ours = await import(pathToFileURL(process.argv[2]).href);

// These take no time to judge by: what they sign as of it is compared.
const official = ({ Webhook, WebhookVerificationError }) => (body, headers, secret, at) => {
  const webhook = new Webhook(secret);
  try {
    if (at === undefined) webhook.verify(body, headers);
    else if (webhook.sign(headers["webhook-id"], new Date(at * 1000), body) !== headers["webhook-signature"])
      return "another signature";
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.message;
    throw error;
  }
};

const example = (body, headers, secret, at) => {
  try {
    if (ours.verify(body, headers, secret, at) !== headers["webhook-id"]) throw new Error("another id");
  } catch (error) {
    if (error instanceof ours.Refused) return error.kind;
    throw error;
  }
};

const judges = new Map([
  ["/standardwebhooks", { verify: official(standardwebhooks) }],
  ["/svix", { verify: official(svix) }],
  ["/verify", { verify: example }],
]);

const answer = (judge, method, headers, body) => {
  if (method === "GET") return [200, JSON.stringify(judge.last ?? null)];
  if (method === "PUT") {
    judge.secret = body.toString();
    return [204];
  }
  judge.last = { headers, body: body.toString("base64") };
  const at = headers["judge-at"] === undefined ? undefined : Number(headers["judge-at"]);
  const refused = judge.verify(body, headers, judge.secret, at);
  return refused === undefined ? [204] : [401, refused];
};

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const [status, words] = answer(judges.get(request.url), request.method, request.headers, Buffer.concat(chunks));
    response.writeHead(status).end(words);
  } catch (error) {
    response.writeHead(500).end(`${error?.stack}`);
  }
});
server.listen(Number(process.env.PORT), "127.0.0.1");
