// The documentation site in a browser: node browser.mjs URL SANDBOX_KEY CHROMIUM FOLDER
// Status 0: pages fit their window, ask nobody else, break no policy, and a POST was tried out.
import assert from "node:assert/strict";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [url, key, executablePath, folder] = process.argv.slice(2);
// A system's browser, as root, without anything that it would ask its maker for.
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const browser = await chromium.launch({ executablePath, args });
const complaints = [];

async function visit(width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("request", (request) => {
    const address = request.url();
    if (!address.startsWith(url) && !address.startsWith("data:") && !address.startsWith("blob:"))
      complaints.push(`asked ${address}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error}`));
  return page;
}

async function fits(page, name) {
  const { wide, dark } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    dark: getComputedStyle(document.body).backgroundColor,
  }));
  await page.screenshot({ path: join(folder, `${name}.png`) });
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
  return dark;
}

const papers = { light: new Set(), dark: new Set() };
for (const width of [360, 768, 1280]) {
  for (const scheme of ["light", "dark"]) {
    const page = await visit(width, scheme);
    for (const path of ["/", "/docs", "/docs/lifecycle", "/docs/retries", "/docs/errors"]) {
      await page.goto(url + path);
      papers[scheme].add(await fits(page, `${path.replaceAll("/", "_")}-${width}-${scheme}`));
    }
    await page.goto(`${url}/docs/reference`);
    await page.getByRole("heading", { name: "Products", exact: true }).first().waitFor({ state: "attached" });
    papers[scheme].add(await fits(page, `reference-${width}-${scheme}`));
    await page.context().close();
  }
}
for (const paper of papers.light) assert.ok(!papers.dark.has(paper), `${paper} is light and dark`);

// The search of the guides finds sections and operations.
const page = await visit(1280, "light");
await page.goto(`${url}/docs`);
await page.locator("#search").fill("fulfill");
await page.locator("#found a", { hasText: "POST /v1/checkouts/{id}/fulfill" }).waitFor();
// The samples are tabs, which remember what was chosen.
await page.goto(`${url}/docs/retries`);
await page.getByRole("tab", { name: "Python" }).click();
await page.locator('pre[data-language="python"]').first().waitFor({ state: "visible" });
assert.equal(await page.locator('pre[data-language="typescript"]:visible').count(), 0);

// The key is typed once, and is there after a reload, in this tab alone.
const operation = `${url}/docs/reference#tag/products/POST/v1/products`;
await page.goto(operation);
const token = () => page.getByPlaceholder("Token").first();
await token().fill(key);
await token().blur();
await page.waitForFunction((key) => JSON.stringify({ ...sessionStorage }).includes(key), key);
await page.reload();
await page.waitForFunction((key) => [...document.querySelectorAll("input")].some((input) => input.value === key), key);
assert.ok(!(await (await visit(1280, "light")).goto(operation).then(async (response) =>
  (await response.frame().page().evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).includes(key))));

// A POST, as the reference fills it in, is taken.
const answered = page.waitForResponse((response) => response.url() === `${url}/v1/products`);
await page.getByRole("button", { name: /Test Request.*post \/v1\/products\)?$/i }).first().click();
await page.getByRole("button", { name: /^Send/ }).first().click();
const response = await answered;
assert.equal(response.status(), 200, await response.text());
assert.equal(response.request().headers().authorization, `Bearer ${key}`);
await page.screenshot({ path: join(folder, "tried.png") });
console.log(`tried out: ${(await response.json()).id}`);

await browser.close();
assert.deepEqual(complaints, []);
