// A shop's way to an active lease, with the client that openapi-typescript makes.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";

import createClient from "openapi-fetch";

import type { components, paths } from "./api.js";

const { SHOP_URL, SHOP_KEY, SHOP_ORGANIZATION } = process.env;
assert(SHOP_URL && SHOP_KEY && SHOP_ORGANIZATION);

const client = createClient<paths>({
  baseUrl: SHOP_URL,
  headers: { Authorization: `Bearer ${SHOP_KEY}` },
});

type Failure = components["schemas"]["ErrorBody"];

/** What an answer says when it is a success. */
function ok<T>(answer: { data?: T; error?: Failure }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.error?.error.code}: ${answer.error?.error.message}`);
  }
  return answer.data;
}

const category = ok(await client.POST("/v1/product-categories", { body: { name: "TypeScript bikes" } }));

await client
  .POST("/v1/lease-terms", {
    body: {
      termInMonths: 18,
      method: "moneyFactor",
      moneyFactor: "0.0025",
      residualPercentage: 45,
      depositPercentage: "10",
      insurancePercentage: "6",
    },
  })
  .then(ok);

// The same request again is answered as the first was, and makes nothing.
const create = () =>
  client.POST("/v1/products", {
    params: { header: { "Idempotency-Key": "typescript-product" } },
    body: {
      name: "Trail bike",
      description: "A bike for every path.",
      options: [{ name: "Size", values: ["M", "L"] }],
      organizationId: SHOP_ORGANIZATION,
      price: "1299.00",
      productSource: "manual",
      productType: "leasable",
      productCategoryId: category.id,
    },
  });
const [first, again] = [await create(), await create()];
const product = ok(first);
assert.equal(ok(again).id, product.id);
assert.equal(first.response.headers.get("Idempotent-Replayed"), null);
assert.equal(again.response.headers.get("Idempotent-Replayed"), "true");

for (const size of ["M", "L"]) {
  ok(
    await client.POST("/v1/product-variants", {
      body: {
        productId: product.id,
        name: `Trail bike ${size}`,
        description: "Hydraulic brakes, 11 gears.",
        price: 1299.5,
        sku: `TYPESCRIPT-${size}`,
        options: [{ name: "Size", value: size }],
        productImages: ["https://images.example.com/trail-bike.jpg"],
        inventoryQuantity: 5,
      },
    }),
  );
}

// A page, and the one after it.
const page = { path: { id: product.id }, query: { limit: 1 } };
const newest = ok(await client.GET("/v1/products/{id}/variants", { params: page }));
assert.equal(newest.length, 1);
const startingAfter = newest[0]!.id;
const next = ok(
  await client.GET("/v1/products/{id}/variants", {
    params: { ...page, query: { ...page.query, startingAfter } },
  }),
);
assert.deepEqual([newest[0]!.sku, next[0]!.sku].sort(), ["TYPESCRIPT-L", "TYPESCRIPT-M"]);
assert.equal(next[0]!.pricing?.["18"]?.totalDueAtSigning.includes("."), true);
const listed = ok(await client.GET("/v1/products", { params: { query: { status: ["active"], limit: 1 } } }));
assert.equal(listed.results[0]!.id, product.id);

// What is refused says why, to programs too.
const refused = await client.POST("/v1/checkouts", {
  body: { sku: "TYPESCRIPT-M", selectedTermInMonths: 7, customer: { email: "ada@example.com" } },
});
assert.equal(refused.response.status, 400);
assert.equal(refused.error?.error.code, "invalid_parameter");
assert.equal(refused.error?.error.param, "selectedTermInMonths");

const address = {
  firstName: "Ada",
  lastName: "Lovelace",
  address1: "1 Market St",
  city: "San Francisco",
  state: "CA",
  zip: "94105",
  country: "US",
};
const made = ok(
  await client.POST("/v1/checkouts", {
    body: {
      productVariantId: startingAfter,
      selectedTermInMonths: 18,
      customer: { ...address, email: "ada.typescript@example.com", phone: "+14155550132" },
      shippingAddress: address,
      externalOrderId: "typescript-1",
    },
  }),
);
const path = { id: made.id };
const confirmed = ok(
  await client.POST("/v1/sandbox/checkouts/{id}/advance", {
    params: { path },
    body: { to: "orderConfirmed" },
  }),
);
assert.equal(confirmed.lifecycle, "orderConfirmed");
ok(
  await client.POST("/v1/checkouts/{id}/fulfill", {
    params: { path },
    body: { serialNumbers: { [made.items[0]!.id]: "SN-TYPESCRIPT" } },
  }),
);

let checkout = made;
for (let looks = 0; looks < 300 && checkout.lifecycle !== "leaseActive"; looks += 1) {
  await pause(100);
  checkout = ok(await client.GET("/v1/checkouts/{id}", { params: { path } }));
}
assert.equal(checkout.lifecycle, "leaseActive");
assert.equal(checkout.progress.percentage, 100);
console.log(checkout.id);
