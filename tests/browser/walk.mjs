// A customer's way through a checkout's page, in a browser: node walk.mjs WALK.json
// The file says who walks, how, and what they do; what was seen is said in JSON.
// What a page may be is told in `seen` for the caller to judge; what must never be, in `complaints`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(new URL("../peers/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
// What the law asks for, and what axe takes for good besides.
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
// A system's browser, as root, without anything that it would ask its maker for.
const ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const PATIENCE = 60_000;
// Looks at a checkout that is to come to a state, and the pause between.
const LOOKS = 1_200;
const BETWEEN_LOOKS = 50;
// More than any page has to step over.
const MOST_TABS = 400;
const ELSEWHERE = "http://elsewhere.example/";
const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"><rect width="160" height="40" rx="6" fill="#0b57a4"/></svg>';

const walk = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { base, setting } = walk;
const complaints = [];
const seen = [];
const styles = new Map();
let last;

const browser = await chromium.launch({ executablePath: walk.chromium, args: ARGS });
const view = {
  viewport: { width: setting.width, height: 800 },
  colorScheme: setting.dark ? "dark" : "light",
  locale: setting.language,
};
const page = await open({ ...view, javaScriptEnabled: setting.scripts });
// axe is a script: where the customer's browser runs none it looks at the same page in another.
const judge = await open(view);
let judged = "";
await judge.route((address) => address.href.startsWith(base), (route) =>
  route.request().isNavigationRequest()
    ? route.fulfill({ contentType: "text/html; charset=utf-8", body: judged })
    : route.continue());

async function open(options) {
  const context = await browser.newContext(options);
  const opened = await context.newPage();
  opened.setDefaultTimeout(PATIENCE);
  await opened.route((address) => address.origin === walk.pictures, (route) =>
    route.fulfill({ contentType: "image/svg+xml", body: PICTURE }));
  return opened;
}

page.on("request", (request) => {
  const address = request.url();
  const known = [base, walk.double, walk.pictures, ELSEWHERE, "data:"].filter(Boolean);
  if (!known.some((start) => address.startsWith(start))) complaints.push(`asked ${address}`);
});
page.on("response", async (response) => {
  if (!(response.headers()["content-type"] ?? "").startsWith("text/css")) return;
  // One that is kept has no body to be read.
  const body = await response.body().catch(() => null);
  if (body) styles.set(response.url(), body.length);
});
page.on("console", (message) => {
  // The status of a page is looked at by itself.
  const isStatus = message.text().startsWith("Failed to load resource") && message.location().url === page.url();
  if (message.type() === "error" && !isStatus) complaints.push(`${shown(page.url())}: ${message.text()}`);
});
page.on("pageerror", (error) => complaints.push(`${shown(page.url())}: ${error}`));

// An address without its secret.
function shown(address) {
  return address.replace(/\/c\/[0-9A-Za-z]{30,}/, "/c/…");
}

// The address, in the walk's language.
function spoken(address) {
  const url = new URL(address);
  if (setting.language !== "en") url.searchParams.set("lang", setting.language);
  return url.href;
}

// What the browser has in front of it after something was done.
async function look(label, response) {
  last = { label, status: response.status() };
  if (!page.url().startsWith(base)) return;
  const html = await response.body().catch(async () => Buffer.from(await page.content()));
  const links = await page.locator('link[rel="stylesheet"]').evaluateAll((all) => all.map((link) => link.href));
  const css = links.reduce((sum, link) => sum + (styles.get(link) ?? 0), 0);
  const shape = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - innerWidth,
    heading: document.querySelector("h1")?.textContent ?? "",
    language: document.documentElement.lang,
  }));
  const shot = join(walk.folder, `${walk.name}-${String(seen.length + 1).padStart(2, "0")}-${label.replace(/\W+/g, "-")}.png`);
  await page.screenshot({ path: shot, fullPage: true });
  judged = html.toString("utf8");
  const violations = await violationsOf(page.url());
  const wait = response.request().timing().responseStart;
  seen.push({ ...last, ...shape, html: html.length, css, wait, violations, shot });
  if (shape.wide > 0) complaints.push(`${label} is ${shape.wide} px too wide: ${shot}`);
  if (shape.heading === "") complaints.push(`${label} has no heading`);
  for (const violation of violations) complaints.push(`${label}: ${violation}`);
}

// What axe finds. A page that looks again by itself goes away meanwhile.
async function violationsOf(address) {
  for (let left = 3; ; left -= 1) {
    try {
      await judge.goto(address);
      await judge.evaluate(AXE);
      const found = await judge.evaluate(
        (tags) => axe.run(document, { runOnly: tags, resultTypes: ["violations"] }), TAGS);
      return found.violations.map(({ id, help, nodes }) =>
        `${id} (${help}) at ${nodes.map((node) => node.target.join(" ")).join(", ")}`);
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

// Does something that leads to another page, and looks at it.
async function leads(label, deed) {
  const navigated = page.waitForNavigation({ timeout: PATIENCE });
  const [response] = await Promise.all([navigated, deed()]);
  await look(label, response);
}

async function goTo(label, address) {
  await leads(label, () => page.goto(spoken(address)));
}

// --- hands

// Steps on until the element has the focus, which has to be seen.
async function tabTo(element) {
  const isThere = () => element.evaluate((it) => it === document.activeElement);
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    if (await isThere()) {
      const isSeen = await element.evaluate((it) => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(it);
        return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
      });
      if (!isSeen) complaints.push(`the focus is not seen on ${await element.evaluate((it) => it.outerHTML)}`);
      return;
    }
    const isBeside = await element.evaluate((it) =>
      it.type === "radio" && document.activeElement.type === "radio" && document.activeElement.name === it.name);
    await page.keyboard.press(isBeside ? "ArrowDown" : "Tab");
  }
  throw new Error(`no key leads to ${await element.evaluate((it) => it.outerHTML)}`);
}

async function press(element) {
  if (setting.keyboard) {
    await tabTo(element);
    await page.keyboard.press("Enter");
  } else {
    await element.click();
  }
}

async function fill(control, value) {
  const kind = await control.evaluate((it) => (it.tagName === "SELECT" ? "select" : it.type));
  if (kind === "radio" || kind === "checkbox") {
    if (!setting.keyboard) return control.check();
    await tabTo(control);
    if (!(await control.isChecked())) await page.keyboard.press("Space");
    if (!(await control.isChecked())) throw new Error(`${value} is not chosen`);
    return;
  }
  if (!setting.keyboard) return kind === "select" ? control.selectOption(value) : control.fill(value);
  await tabTo(control);
  if (kind === "select") {
    const words = await control.evaluate((it, value) =>
      [...it.options].find((option) => option.value === value)?.textContent.trim(), value);
    await page.keyboard.type(words ?? value);
  } else {
    // What is there is selected by coming to it.
    await page.keyboard.press("Delete");
    await page.keyboard.type(value);
  }
  const now = await control.inputValue();
  if (now !== value) throw new Error(`${value} was typed, and ${now} is there`);
}

function formOf(step) {
  return page.locator(`form[action$="/${step}"], form[action*="/${step}?"]`).first();
}

// Opens what the form is folded into.
async function unfold(form) {
  const folded = form.locator("xpath=ancestor::details[not(@open)]/summary");
  if (await folded.count()) await press(folded.first());
}

// --- what can be done

const deeds = {
  open: () => goTo("open", walk.page),
  // Another address of the server, with the status that it has.
  visit: ({ path }) => goTo(shown(path), path.startsWith("/") ? base + path : path),
  // The state that something outside of the page leads to.
  async reach({ lifecycle, has }) {
    let checkout;
    for (let looks = 0; looks < LOOKS; looks += 1) {
      const answer = await fetch(`${base}/v1/checkouts/${walk.checkout}`, { headers: { authorization: `Bearer ${walk.key}` } });
      checkout = await answer.json();
      if (checkout.lifecycle === lifecycle && (!has || checkout[has])) return goTo(lifecycle, walk.page);
      await new Promise((done) => setTimeout(done, BETWEEN_LOOKS));
    }
    throw new Error(`it is ${checkout.lifecycle} and not ${lifecycle}`);
  },
  // A form, filled in and sent.
  async send({ form: step, fields = {}, unchecked }) {
    const form = formOf(step);
    await form.waitFor({ state: "attached" });
    await unfold(form);
    // The server judges, and not the browser.
    if (unchecked) await form.evaluate((it) => { it.noValidate = true; });
    for (const [name, value] of Object.entries(fields)) {
      const named = form.locator(`[name="${name}"]`);
      const control = value === "first" ? named.first()
        : (await named.count()) > 1 ? form.locator(`[name="${name}"][value="${value}"]`) : named;
      await fill(control, value);
    }
    await leads(step, () => press(form.locator("button").first()));
  },
  // A button of a page of the processor's.
  choose: ({ choice }) => leads(choice, () => press(page.locator(`button[value="${choice}"]`))),
  // What the organization does meanwhile.
  async call({ method, path, body }) {
    const isOwn = path.startsWith("/");
    const headers = { "content-type": "application/json", ...(isOwn && { authorization: `Bearer ${walk.key}` }) };
    const answer = await fetch(isOwn ? base + path : path, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  },
  // A request that no page makes.
  async odd({ method, path, type, size, status }) {
    const address = path.startsWith("/") ? base + path : path;
    const postData = size ? "x".repeat(size) : undefined;
    const headers = type ? { "content-type": type } : undefined;
    await page.route(address, (route) => route.continue({ method, postData, headers }), { times: 1 });
    await leads(`${method} ${status}`, () => page.goto(address));
    expect(last.status === status, `${method} answered ${last.status}`);
  },
  // A form of another site.
  async forge({ form }) {
    await page.route(ELSEWHERE, (route) => route.fulfill({
      contentType: "text/html",
      body: `<!doctype html><html lang="en"><title>Elsewhere</title><main><h1>A prize</h1>
        <form method="post" action="${walk.page}/${form}"><button style="outline: auto">Win</button></form></main></html>`,
    }));
    await leads("elsewhere", () => page.goto(ELSEWHERE));
    await leads("forged", () => press(page.locator("button")));
  },
  async sees({ status, alert, invalid, values = {}, forms = [], not = [], some }) {
    if (status) expect(last.status === status, `${last.label} answered ${last.status} and not ${status}`);
    if (alert !== undefined) {
      const texts = await page.locator('[role="alert"]').allTextContents();
      expect(texts.some((text) => text.trim()) === alert, `alerts of ${last.label}: ${texts}`);
    }
    if (invalid) {
      const field = page.locator(`[name="${invalid}"][aria-invalid="true"]`).first();
      expect(await field.count(), `${invalid} is not at fault`);
      const said = await field.evaluate((it) => (it.getAttribute("aria-describedby") ?? "").split(/\s+/)
        .map((id) => document.getElementById(id)?.textContent ?? "").join("").trim());
      expect(said, `nothing says what is wrong with ${invalid}`);
    }
    for (const [name, value] of Object.entries(values)) {
      const now = await page.locator(`[name="${name}"]`).first().inputValue();
      expect(now === value, `${name} is ${now} and not ${value}`);
    }
    for (const step of forms) expect(await formOf(step).count(), `${last.label} has no form ${step}`);
    for (const step of not) expect(!(await formOf(step).count()), `${last.label} has a form ${step}`);
    if (some) expect(await page.locator(some).count(), `${last.label} has no ${some}`);
  },
};

function expect(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}

let failure;
for (const deed of walk.deeds) {
  try {
    await deeds[deed.do](deed);
  } catch (error) {
    const shot = join(walk.folder, `${walk.name}-failed.png`);
    await page.screenshot({ path: shot, fullPage: true }).catch(() => {});
    failure = `${JSON.stringify(deed)}: ${error.message}\n${shown(page.url())}, ${shot}`;
    break;
  }
}
await browser.close();
process.stdout.write(JSON.stringify({ seen, complaints, failure }));
