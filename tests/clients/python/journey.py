"""A shop's way to an active lease, with the client that openapi-python-client makes."""

import os
import time
from http import HTTPStatus
from typing import TypeVar

from lessor_client import AuthenticatedClient
from lessor_client.api.checkouts import create_checkout, fulfill_checkout, get_checkout
from lessor_client.api.lease_terms import create_lease_term
from lessor_client.api.product_categories import create_product_category
from lessor_client.api.product_variants import create_product_variant
from lessor_client.api.products import create_product, list_products, list_variants_of_product
from lessor_client.api.sandbox import advance_sandbox_checkout
from lessor_client.models import (
    AddressInput,
    AdvanceCheckout,
    Checkout,
    CheckoutCustomer,
    CheckoutLifecycle,
    CreateCheckout,
    CreateLeaseTerm,
    CreateProduct,
    CreateProductCategory,
    CreateProductVariant,
    ErrorBody,
    ErrorRecordCode,
    FulfillCheckout,
    FulfillCheckoutSerialNumbersType0,
    LeaseTermMethod,
    OptionDefinitionInput,
    OptionSelectionInput,
    Product,
    ProductSource,
    ProductStatus,
    ProductType,
)
from lessor_client.types import UNSET, Response

Answer = TypeVar("Answer")


def ok(answer: Answer | ErrorBody | None) -> Answer:
    """What an answer says when it is a success."""
    assert answer is not None and not isinstance(answer, ErrorBody), answer
    return answer


client = AuthenticatedClient(base_url=os.environ["SHOP_URL"], token=os.environ["SHOP_KEY"])

category = ok(
    create_product_category.sync(client=client, body=CreateProductCategory(name="Python bikes"))
)
ok(
    create_lease_term.sync(
        client=client,
        body=CreateLeaseTerm(
            term_in_months=18,
            method=LeaseTermMethod.MONEYFACTOR,
            money_factor="0.0025",
            residual_percentage=45,
            deposit_percentage="10",
            insurance_percentage="6",
        ),
    )
)


# The same request again is answered as the first was, and makes nothing.
def create() -> Response[Product | ErrorBody]:
    return create_product.sync_detailed(
        client=client,
        idempotency_key="python-product",
        body=CreateProduct(
            name="Trail bike",
            description="A bike for every path.",
            options=[OptionDefinitionInput(name="Size", values=["M", "L"])],
            organization_id=os.environ["SHOP_ORGANIZATION"],
            price="1299.00",
            product_source=ProductSource.MANUAL,
            product_type=ProductType.LEASABLE,
            product_category_id=category.id,
        ),
    )


first, again = create(), create()
product = ok(first.parsed)
assert ok(again.parsed).id == product.id
assert "Idempotent-Replayed" not in first.headers
assert again.headers["Idempotent-Replayed"] == "true"

for size in ["M", "L"]:
    ok(
        create_product_variant.sync(
            client=client,
            body=CreateProductVariant(
                product_id=product.id,
                name=f"Trail bike {size}",
                description="Hydraulic brakes, 11 gears.",
                price=1299.5,
                sku=f"PYTHON-{size}",
                options=[OptionSelectionInput(name="Size", value=size)],
                product_images=["https://images.example.com/trail-bike.jpg"],
                inventory_quantity=5,
            ),
        )
    )

# A page, and the one after it.
[newest] = ok(list_variants_of_product.sync(product.id, client=client, limit=1))
[older] = ok(
    list_variants_of_product.sync(product.id, client=client, limit=1, starting_after=newest.id)
)
assert {newest.sku, older.sku} == {"PYTHON-L", "PYTHON-M"}
assert newest.pricing and "." in newest.pricing["18"].total_due_at_signing
listed = ok(list_products.sync(client=client, status=[ProductStatus.ACTIVE], limit=1))
assert listed.results[0].id == product.id

# What is refused says why, to programs too.
refused = create_checkout.sync_detailed(
    client=client,
    body=CreateCheckout(
        sku="PYTHON-M",
        selected_term_in_months=7,
        customer=CheckoutCustomer(email="ada@example.com"),
    ),
)
assert refused.status_code == HTTPStatus.BAD_REQUEST
assert isinstance(refused.parsed, ErrorBody)
assert refused.parsed.error.code == ErrorRecordCode.INVALID_PARAMETER
assert refused.parsed.error.param == "selectedTermInMonths"

made = ok(
    create_checkout.sync(
        client=client,
        body=CreateCheckout(
            product_variant_id=newest.id,
            selected_term_in_months=18,
            customer=CheckoutCustomer(
                email="ada.python@example.com",
                first_name="Ada",
                last_name="Lovelace",
                address1="1 Market St",
                city="San Francisco",
                state="CA",
                zip_="94105",
                country="US",
                phone="+14155550132",
            ),
            shipping_address=AddressInput(
                first_name="Ada",
                last_name="Lovelace",
                address1="1 Market St",
                city="San Francisco",
                state="CA",
                zip_="94105",
                country="US",
            ),
            external_order_id="python-1",
        ),
    )
)
confirmed = ok(
    advance_sandbox_checkout.sync(
        made.id, client=client, body=AdvanceCheckout(to=CheckoutLifecycle.ORDERCONFIRMED)
    )
)
assert confirmed.lifecycle == CheckoutLifecycle.ORDERCONFIRMED
serial_numbers = FulfillCheckoutSerialNumbersType0()
serial_numbers[made.items[0].id] = "SN-PYTHON"
ok(
    fulfill_checkout.sync(
        made.id, client=client, body=FulfillCheckout(serial_numbers=serial_numbers)
    )
)


def read() -> Checkout:
    return ok(get_checkout.sync(made.id, client=client))


checkout = read()
for _ in range(300):
    if checkout.lifecycle == CheckoutLifecycle.LEASEACTIVE:
        break
    time.sleep(0.1)
    checkout = read()
assert checkout.lifecycle == CheckoutLifecycle.LEASEACTIVE
assert checkout.progress.percentage == 100
assert checkout.lease_start_date is not UNSET
print(checkout.id)
