// The storefront of the examples in a browser: node storefront.mjs CHROMIUM STOREFRONT
// Says its origin in a line, and reads in one {"url", "key"}. Status 0: prices are shown under the
// page's policy, as they are themed, and what goes wrong is told.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [executablePath, storefront] = process.argv.slice(2);
let url, key;

// Nobody's inline styles or scripts, no eval: as the page says itself.
const server = createServer(async (request, response) => {
  const name = request.url === "/" ? "index.html" : request.url.slice(1);
  if (!["index.html", "shop.css"].includes(name)) return response.writeHead(404).end();
  const text = (await readFile(join(storefront, name), "utf8"))
    .replaceAll("http://localhost:8080", url)
    .replaceAll("YOUR_PUBLISHABLE_KEY", key);
  response.setHeader("content-type", name.endsWith("css") ? "text/css" : "text/html");
  response.setHeader("content-security-policy",
    `default-src 'none'; script-src ${url}; connect-src ${url}; style-src 'self'; img-src data:; require-trusted-types-for 'script'`);
  response.end(text);
});
await new Promise((done) => server.listen(0, "localhost", done));
const origin = `http://localhost:${server.address().port}`;
console.log(origin);
({ url, key } = JSON.parse((await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next()).value));

const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });
const page = await (await browser.newContext({ locale: "en-US" })).newPage();
page.setDefaultTimeout(30_000);
const complaints = [];
page.on("pageerror", (error) => complaints.push(`${error}`));
page.on("console", (message) => {
  // An answer 404 is a line in the console; whatever else is an error is a policy that was broken.
  if (message.type() === "error" && !/status of 404/.test(message.text())) complaints.push(message.text());
});
await page.addInitScript(() => {
  window.told = [];
  for (const name of ["lessor-price-loaded", "lessor-price-error"])
    addEventListener(name, ({ target, detail }) => window.told.push([name, target.id, detail]));
});

const told = (count) => page.waitForFunction((count) => window.told.length >= count && window.told, count)
  .then((handle) => handle.jsonValue());
const shadow = (id, selector, property) => page.evaluate(([id, selector, property]) => {
  const found = document.getElementById(id).shadowRoot.querySelector(selector);
  return property ? getComputedStyle(found)[property] : found?.textContent;
}, [id, selector, property]);
const counted = async (route, status) => {
  const line = (await (await fetch(`${url}/metrics`)).text()).split("\n").find((line) =>
    line.startsWith("http_requests_total{") && line.includes(`route="${route}"`) && line.includes(`status="${status}"`));
  return Number(line?.split(" ").pop() ?? 0);
};
const PRICES = "/v1/product-variants/{identifier}/pricing-summary";
const SCRIPT = "/elements/{file}";

await page.goto(origin);
const events = await told(4);
const of = (id) => events.find(([, target]) => target === id);
assert.equal(await page.locator("#lowest").evaluate((it) => it.shadowRoot.querySelector("[aria-hidden]").textContent),
  of("lowest")[2].text);
console.log(JSON.stringify(Object.fromEntries(events.map(([name, id, detail]) => [id, { name, ...detail }]))));
assert.equal(await shadow("lowest", ".spoken"), of("lowest")[2].text.replace("/", " per "));
// Parts are themed from outside; what is loaded hides the slots.
assert.equal(await shadow("lowest", "[part=amount]", "fontWeight"), "700");
assert.equal(await shadow("lowest", "[part=amount]", "color"), "rgb(10, 107, 61)");
assert.ok(await page.locator("#lowest [slot=loading]").isHidden());
assert.ok(await page.locator("#lowest [slot=fallback]").isHidden());
assert.ok(await page.locator("#unknown [slot=fallback]").isVisible());
assert.equal(await shadow("unknown", "[part=price]", "display"), "none");
// Two elements of one variant are one request. Another was asked before the page was.
assert.deepEqual([await counted(PRICES, 200), await counted(PRICES, 404)], [3, 1]);

// An attribute that changes is a price that changes, from the browser's cache.
await page.evaluate(() => document.getElementById("term").setAttribute("term", "36"));
assert.equal((await told(5))[4][2].term, 36);
await page.evaluate(() => Object.assign(document.getElementById("term"), { lang: "fr" }));
console.log((await told(6))[5][2].text);
for (const [attribute, value, code] of [["term", "13", "term_not_offered"], ["publishable-key", "lsk_live_x", "not_publishable"],
  ["variant", "", "attribute_missing"]]) {
  const before = await page.evaluate(() => window.told.length);
  await page.evaluate(([name, value]) => document.getElementById("german").setAttribute(name, value), [attribute, value]);
  assert.equal((await told(before + 1)).at(-1)[2].code, code);
}
assert.ok(await page.locator("#german [slot=fallback]").isVisible());
assert.equal(await counted(PRICES, 200), 3);

// A second visit: the script is asked for again by its tag, prices are kept.
await page.goto("about:blank");
await page.goto(origin);
await told(4);
assert.deepEqual([await counted(SCRIPT, 200), await counted(SCRIPT, 304)], [1, 1]);
assert.equal(await counted(PRICES, 200), 3);
// Later the browser asks for them by their tag too, and is answered across origins.
const again = await page.evaluate(async ([url, key]) => {
  const path = `${url}/v1/product-variants/BIKE-M/pricing-summary`;
  const answer = await fetch(path, { headers: { Authorization: `Bearer ${key}` }, cache: "no-cache" });
  return [answer.status, ...["etag", "request-id", "ratelimit-limit"].map((name) => Boolean(answer.headers.get(name)))];
}, [url, key]);
assert.deepEqual(again, [200, true, true, true]);
assert.equal(await counted(PRICES, 304), 1);

// Too many requests are tried again; a server that stays silent is told of.
let refusals = 0;
await page.route("**/pricing-summary", async (route) => {
  if (route.request().method() === "OPTIONS" || (refusals += 1) > 2) return route.continue();
  return route.fulfill({ status: 429, headers: { "retry-after": "0", "access-control-allow-origin": origin,
    "access-control-expose-headers": "Retry-After" }, body: "{}" });
});
await page.evaluate(() => document.getElementById("lowest").setAttribute("variant", "BIKE-S"));
assert.equal((await told(5))[4][0], "lessor-price-loaded");
assert.equal(refusals, 3);
await page.route("**/pricing-summary", (route) => route.abort());
await page.evaluate(() => document.getElementById("lowest").setAttribute("variant", "BIKE-M "));
const silent = (await told(6))[5];
assert.deepEqual([silent[0], silent[2].code], ["lessor-price-error", "network_error"]);
assert.ok(await page.locator("#lowest [slot=fallback]").isVisible());

await browser.close();
server.close();
assert.deepEqual(complaints.filter((text) => !/net::ERR_FAILED/.test(text) && !/status of 429/.test(text)), []);
console.log("shown");
