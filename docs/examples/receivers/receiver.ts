// Takes messages of Lessor on port 8000, each once: WEBHOOK_SECRET=whsec_… node receiver.ts (Node.js 22.18 or later)
import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Refused, verify } from "./verify.ts";

const tasks = "tasks";
mkdirSync(tasks, { recursive: true });

createServer(async (request, response) => {
  const fresh = `${tasks}/.${process.hrtime.bigint()}`;
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const id = verify(body, request.headers, process.env.WEBHOOK_SECRET ?? "");
    writeFileSync(fresh, body, { flush: true });
    // Seen and done in one step, or neither: here a task comes to be under the message's id. In a database it is
    // `insert into seen (id) … on conflict do nothing`, in the transaction of what you do.
    linkSync(fresh, `${tasks}/${encodeURIComponent(id)}.json`);
    response.end("done");
  } catch (error) {
    const isRepeat = (error as NodeJS.ErrnoException).code === "EEXIST";
    if (isRepeat) response.end("seen before");
    else if (error instanceof Refused) response.writeHead(401).end(error.kind);
    else response.writeHead(500).end(); // it comes again
  } finally {
    rmSync(fresh, { force: true });
  }
}).listen(Number(process.env.PORT ?? 8000));
