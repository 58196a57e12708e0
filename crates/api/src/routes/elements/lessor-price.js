// <lessor-price variant="pvar_… or sku" publishable-key="lpk_…" [term="24"] [text="…"] [api="https://…"]>
// What a variant costs a month: see /docs/shop.
const HOME = new URL("..", import.meta.url).href;
const [TRIES, LONGEST_WAIT] = [3, 30];

const STYLE = new CSSStyleSheet();
STYLE.replaceSync(`
[hidden] { display: none }
[part=amount] { color: var(--lessor-price-amount-color, inherit); font: var(--lessor-price-amount-font, inherit) }
.spoken { position: absolute; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
`);

// The lowest price, that of a term, and how a slash is read out.
const WORDS = {
  en: ["from {amount}/month", "{amount}/month for {term}", " per "],
  de: ["ab {amount}/Monat", "{amount}/Monat für {term}", " pro "],
  fr: ["dès {amount}/mois", "{amount}/mois pendant {term}", " par "],
};

const failure = (code, message, more) => Object.assign(new Error(message), { code, ...more });
const make = (name, members) => Object.assign(document.createElement(name), members);

// Who asks the same at the same time shares a request; later there is the browser's cache.
const asked = new Map();
function ask(url, key) {
  const name = `${key} ${url}`;
  if (!asked.has(name)) asked.set(name, read(url, key).finally(() => asked.delete(name)));
  return asked.get(name);
}

async function read(url, key) {
  for (let tried = 1; ; tried += 1) {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` }, credentials: "omit" });
    if (response.ok) return response.json();
    const { status, headers } = response;
    const wait = Number(headers.get("Retry-After") ?? 1);
    if (![429, 503].includes(status) || tried === TRIES || !(wait <= LONGEST_WAIT)) {
      const { error } = await response.json().catch(() => ({}));
      throw failure(error?.code ?? "http_error", error?.message, { status, requestId: headers.get("Request-Id") });
    }
    await new Promise((done) => setTimeout(done, wait * 1000));
  }
}

function languageOf(element) {
  const { host } = element.getRootNode();
  return element.closest("[lang]")?.lang || (host ? languageOf(host) : navigator.language);
}

function formatted(language, options, text) {
  try {
    return new Intl.NumberFormat(language, options).format(text);
  } catch {
    return new Intl.NumberFormat("en", options).format(text);
  }
}

class LessorPrice extends HTMLElement {
  static observedAttributes = ["variant", "term", "publishable-key", "api", "lang", "text"];

  #shown = make("span", { ariaHidden: "true" });
  #spoken = make("span", { className: "spoken" });
  #views = {
    loading: make("slot", { name: "loading" }),
    price: make("span", { part: "price" }),
    fallback: make("slot", { name: "fallback" }),
  };
  #turn = 0;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [STYLE];
    this.#views.price.append(this.#shown, this.#spoken);
    root.append(...Object.values(this.#views));
    this.#show("loading");
  }

  connectedCallback() {
    this.#refresh();
  }

  attributeChangedCallback(_name, before, after) {
    if (before !== after && this.isConnected) this.#refresh();
  }

  // Attributes that change together are one turn; answers to earlier ones are passed over.
  async #refresh() {
    const turn = (this.#turn += 1);
    await null;
    if (turn !== this.#turn) return;
    this.#show("loading");
    try {
      const detail = await this.#load();
      if (turn === this.#turn) this.#fill(detail);
    } catch ({ code = "network_error", message, status, requestId }) {
      if (turn !== this.#turn) return;
      this.#show("fallback");
      this.#tell("error", { code, message, status, requestId });
    }
  }

  async #load() {
    const get = (name) => this.getAttribute(name)?.trim();
    const key = get("publishable-key");
    const variant = get("variant");
    if (!variant || !key) throw failure("attribute_missing", "variant and publishable-key are needed");
    // Any other key is a secret, and is sent nowhere.
    if (!key.startsWith("lpk_")) throw failure("not_publishable", "publishable-key must begin with lpk_");
    const base = (get("api") || HOME).replace(/\/+$/, "");
    const summary = await ask(`${base}/v1/product-variants/${encodeURIComponent(variant)}/pricing-summary`, key);
    const term = get("term") || summary.lowestTermInMonths;
    const price = summary.pricing[term];
    if (!price) throw failure("term_not_offered", "the variant is not offered for this term");
    const { totalMonthlyPayment: amount, currency } = price;
    return { variant: summary.productVariantId, term: Number(term), amount, currency };
  }

  #fill(detail) {
    const { amount, currency, term } = detail;
    const language = languageOf(this);
    const known = language.slice(0, 2).toLowerCase();
    const [lowest, ofTerm, per] = WORDS[known] ?? WORDS.en;
    const digits = amount.split(".")[1]?.length ?? 0;
    const money = { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits };
    const months = { style: "unit", unit: "month", unitDisplay: "long" };
    const parts = {
      "{amount}": formatted(language, money, amount),
      "{term}": formatted(known in WORDS ? language : "en", months, term),
    };
    const text = this.getAttribute("text") ?? (this.getAttribute("term") ? ofTerm : lowest);
    const spans = text.split(/(\{amount\}|\{term\})/).map((piece) =>
      make("span", { part: parts[piece] ? piece.slice(1, -1) : "words", textContent: parts[piece] ?? piece }));
    this.#shown.replaceChildren(...spans);
    this.#spoken.textContent = this.#shown.textContent.replace("/", per);
    this.#show("price");
    this.#tell("loaded", { ...detail, text: this.#shown.textContent });
  }

  #show(wanted) {
    for (const [name, view] of Object.entries(this.#views)) view.hidden = name !== wanted;
  }

  #tell(what, detail) {
    this.dispatchEvent(new CustomEvent(`lessor-price-${what}`, { detail, bubbles: true, composed: true }));
  }
}

if (!customElements.get("lessor-price")) customElements.define("lessor-price", LessorPrice);
