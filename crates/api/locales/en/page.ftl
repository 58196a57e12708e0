# The checkout page. Each text bears the name that the code calls it by.

## Around the page

skip_to_step = Skip to the current step
page_title = { $title } – { $name }
error_title = Error: { $title }
sandbox = Sandbox.
sandbox_means = This is a trial: no identity is checked, no money moves, no goods are sent.
questions = Questions? { $name }:
terms_of_business = Terms
privacy = Privacy
# What the page is switched to, in that language.
other_language = Español

## Pages that only say something

missing_title = There is no such page
missing_text = The link is incomplete. Please use the link as it was sent to you.
replaced_title = This link has ended
replaced_text = This link was replaced by a newer one. Please use the newest link that you were sent, or ask { $name } for it.
personal_title = This link is personal
personal_text = The page of a checkout is opened by a personal link, which is not shown here.
personal_advice = If you are the customer, use the link that you were sent, or ask the shop that you lease from for it.
elsewhere_title = This form came from elsewhere
elsewhere_text = Forms of a checkout are taken from its own page only. Open the page by your link and try again.
method_title = This address is not opened like that
method_text = Open the page of your checkout by your link.
timeout_title = That took too long
timeout_text = What you sent did not arrive in time. Nothing was changed; please try again.
large_title = That was too much
large_text = What you sent is longer than the form takes. Nothing was changed.
many_title = One moment, please
many_text = There were too many requests in a short time. Please wait a moment and try again.
broken_title = Something went wrong
broken_text = That is on our side. Please wait a moment and look at your checkout again: whatever was done is shown there.
unreadable_title = That could not be read
unreadable_text = What was sent is no form of this page. Nothing was changed; please open the page and try again.
back_to_checkout = Back to your checkout
number_of_failure = If it happens again, tell us this number: { $id }

## The way, and how far it is

steps = Steps
step_of = { $name } ({ $number }/{ $total })
step_details = Your details
step_identity = Identity
step_qualification = Qualification
step_delivery = Delivery
step_review = Review
step_deposit = Deposit
step_method = Payment method
step_signature = Signature
step_confirmation = Confirmation
how_far = How far you are

## Where it stands

who_are_you = Tell us who you are
who_are_you_text = Your name and address are needed for the lease. You can go back and correct them later.
identity_required = Confirm your identity
identity_required_text = Before a lease can be offered we have to know that you are you.
identity_verifying_text = Your verification is open. Hand in what is asked for to go on.
identity_processing = Your identity is being checked
qualification_pending = Your application is being checked
qualification_by_hand_text = The decision is pending: somebody looks at your application. You can close this page and come back to it at any time.
shipping_address_pending = Where should we send it?
shipping_address_pending_text = Give the address that the goods are shipped to.
pickup_location_pending = Where will you pick it up?
pickup_location_pending_text = Choose one of the locations.
lease_review_pending = Review your lease
lease_review_pending_text = Read what you lease and what it costs. You accept these terms; nothing is charged yet.
deposit_pending = Authorize your deposit
deposit_pending_text = The deposit is reserved now and charged when you have signed. It is refundable.
deposit_processing = Your deposit is being authorized
deposit_failed = Your deposit was not authorized
deposit_failed_text = Nothing was charged. You can try again, with another card as well.
pays_elsewhere = Your payment is open
pays_elsewhere_text = Go on with it on the payment processor's page. When you have paid there, this page goes on by itself.
method_pending = Choose how you pay every month
method_pending_text = The monthly payments are collected from this payment method.
documents_pending = Sign your lease
documents_pending_text = With your signature the lease is agreed and your deposit is charged.
signs_elsewhere_text = Your lease is signed with the signing service of whoever leases to you: you hear from them by e-mail. This page looks again by itself.
documents_prepared = Your lease is being prepared
documents_signed = Thank you for signing
documents_signed_text = Your deposit is being charged. This page looks again by itself.
capture_failed = Your deposit could not be charged
capture_failed_text = You have signed, but the reserved deposit could not be charged. You can try again.
order_confirmed = Your order is confirmed
order_confirmed_text = We are preparing your goods. There is nothing for you to do.
addendums_pending = There is something more to agree
addendums_pending_text = An addendum to your lease has to be signed before your goods are sent. You will be contacted about it.
shipped = Your goods are on their way
shipped_text = Your lease begins when they arrive.
fulfillment_exception = There is a problem with your order
fulfillment_exception_text = Your goods could not be sent or delivered as planned. You will be contacted about it.
lease_active = Your lease is active
lease_active_text = Everything is done. Enjoy it.
return_pending = Your lease is ending
return_pending_text = Please send the goods back. Your deposit is refunded when they have arrived.
returned = Your lease has ended
returned_text = The goods are back and your deposit is refunded. Thank you.
waitlisted = You are on the waitlist
waitlisted_for_stock_text = This item is not available at the moment. You go on as soon as it is your turn. Nothing is charged.
waitlisted_with_deposit_text = The last one was taken while your deposit was being authorized. You are among the first in line; your deposit is reserved and not charged.
waitlisted_for_location = We do not deliver to you yet
waitlisted_for_location_text = Your address is outside the area that is served. You go on as soon as that changes. Nothing is charged.
place_in_line = You are number { $place } in line.
cancelled = This checkout was cancelled
cancelled_text = A deposit that was reserved is released, one that was charged is refunded.
expired = This checkout has expired
expired_text = It was left untouched for too long. Nothing was charged.
identity_failed = Your identity could not be confirmed
qualification_failed = We cannot offer you this lease
cannot_go_on_text = This checkout cannot go on. Nothing was charged.
a_moment_text = This usually takes a moment. There is nothing for you to do; this page looks again by itself.
look_again = Look again

## Why credit was refused, in the words of the sample forms of 12 CFR 1002, appendix C

principal_reasons = The principal reasons for this decision:
ask_about_decision = For questions about this decision, please ask { $name }.
credit_application_incomplete = Credit application incomplete
insufficient_credit_references = Insufficient number of credit references provided
unacceptable_credit_references = Unacceptable type of credit references provided
unable_to_verify_credit_references = Unable to verify credit references
temporary_or_irregular_employment = Temporary or irregular employment
unable_to_verify_employment = Unable to verify employment
length_of_employment = Length of employment
income_insufficient = Income insufficient for amount of credit requested
excessive_obligations = Excessive obligations in relation to income
unable_to_verify_income = Unable to verify income
length_of_residence = Length of residence
temporary_residence = Temporary residence
unable_to_verify_residence = Unable to verify residence
no_credit_file = No credit file
limited_credit_experience = Limited credit experience
poor_performance_with_us = Poor credit performance with us
delinquent_obligations = Delinquent past or present credit obligations with others
collection_or_judgment = Collection action or judgment
garnishment_or_attachment = Garnishment or attachment
foreclosure_or_repossession = Foreclosure or repossession
bankruptcy = Bankruptcy
recent_inquiries = Number of recent inquiries on credit bureau report
collateral_insufficient = Value or type of collateral not sufficient
other_reasons = Other reasons

## What is leased, and what it costs

your_lease = Your lease
option_chosen = { $name }: { $value }
about_the_item = About this item
serial_number = Serial number { $number }
monthly = { $amount } a month
how_long = How long would you like to lease?
no_terms = This item is not offered for any lease term at the moment. Please get in touch with us.
term = Term
months =
    { $count ->
        [one] { $count } month
       *[other] { $count } months
    }
your_choice = (your choice)
every_month = Every month
in_all = In all
purchase_price = Price at the end
change_the_term = Change the term
choose_this_term = Choose this term
monthly_payment = Payment
insurance = Insurance
monthly_total = Monthly total
taken_when = What is taken when
deposit = Refundable deposit
times = { $name } × { $quantity }
reserved_with_deposit = Reserved with the deposit, charged when you sign
first_month_on_delivery = First month, charged when your goods arrive
first_month_on_shipment = First month, charged when your goods are handed over
due_at_signing = Due at signing
list_price = List price
discount = Discount
percent = { $value }%
monthly_payments =
    { $count ->
        [one] { $count } monthly payment
       *[other] { $count } monthly payments
    }
price_at_the_end = Price to buy it at the end
shipped_to = Shipped to
picked_up_at = Picked up at

## What the customer does

first_name = First name
last_name = Last name
company = Company
address1 = Street and number
address2 = Apartment, floor
city = City
zip = Postal code
state = State or province
country_label = Country
choose_a_country = Choose a country
countries_served = Where we deliver
other_countries = Other countries
this_entry = This entry
phone = Phone
signer_name = Your name, as it stands in the agreement
optional = (optional)
write_to = We write to you at { $email }.
on_file = Your name and address are on file with { $name }. If something of them has changed, tell { $name } before you go on.
go_on = Go on
save_and_go_on = Save and go on
verified_elsewhere = You do that on our verifier's own page. Have your passport, driving licence or identity card at hand.
start_verification = Start the verification
continue_verification = Continue the verification
hand_in_documents = Hand in my documents
address_is_set = { $name } has set the address; it cannot be changed here.
ship_to_this_address = Ship it to this address
ship_it_there = Ship it there
pick_it_up_instead = Pick it up instead
no_pickup_location = No pickup location is open at the moment.
pickup_location = Pickup location
pick_it_up_there = Pick it up there
have_it_shipped = Have it shipped instead
choose_term_first = Choose how long you would like to lease, then accept these terms.
accept_these_terms = Accept these terms
paid_elsewhere = You enter your card on the payment processor's own page, and come back here. It is kept for the monthly payments; you can change it later.
go_to_payment = Go to the payment
go_on_with_payment = Go on with the payment
do_not_pay_now = Do not pay now
sandbox_card = The sandbox's test card is used.
authorize_deposit = Authorize the deposit
authorized_with = Your deposit was authorized with { $card }.
use_this_card = Use this card every month
use_another_card = Use another card
enter_a_card = Enter a card
sign_summary = You lease for { $months } at { $monthly } a month, { $total } in all, and leave a refundable deposit of { $deposit }.
open_agreement = Open the agreement (PDF)
read_agreement = Please read it before you sign.
hash_of_document = SHA-256 of the document:
sign_the_lease = Sign the lease
retry_deposit = Try to charge the deposit again
pay_with = Pay with
card = Card
card_declined = A card that is always declined
card_on_file = Your card on file is { $card }.
collected_from = Your monthly payments are collected from { $card }.
retry_payment = Try the payment again
back_a_step = Back to the step before
cancel_checkout = Cancel this checkout
cancel_means = A deposit that was reserved is released, one that was charged is refunded. This cannot be undone.
cancel_for_good = Yes, cancel it
to_the_shop = Continue to the shop
back_to_the_shop = Back to the shop

## What the customer agrees to

disclosures = What you agree to
disclosed_payments =
    { $count ->
        [one] { $count } monthly payment of { $amount }.
       *[other] { $count } monthly payments of { $amount } each, on the same day of each month.
    }
disclosed_first_on_delivery = The first of { $amount } is charged when your goods arrive.
disclosed_first_on_shipment = The first of { $amount } is charged when your goods are handed over.
disclosed_at_signing = { $amount } is reserved with the deposit now, and charged when you sign.
disclosed_total = Total of payments: { $amount }. That is what you will have paid by the end of the lease.
disclosed_deposit = The deposit of { $amount } is refunded when the goods are back, less what you owe then.
disclosed_insurance = The insurance of the goods is part of each monthly payment: { $amount }.
disclosed_no_insurance = This lease neither requires insurance nor brings any.
disclosed_purchase = At the end of the term you may buy the goods for { $amount }.
disclosed_early_end = You may have to pay a substantial charge if you end this lease early. The earlier you end it, the greater the charge is likely to be.
disclosed_no_other_charges = There are no other charges, and none for a late payment. You may be charged for excessive wear based on our standards for normal use.

## What is wrong

there_is_a_problem = There is a problem
fault_missing = Please fill in: { $label }.
fault_too_long = { $label } has to be at most { $most } characters long.
fault_characters = { $label } has characters that cannot be used here.
fault_state = State or province has to be the code or name of a state or province of the country, such as CA for California.
fault_us_zip = Postal code has to be a US ZIP code: 5 digits, or 9 as 12345-6789.
fault_ca_zip = Postal code has to be a Canadian postal code such as K1A 0B1.
fault_au_zip = Postal code has to be an Australian postcode: 4 digits.
fault_zip = Postal code has to be up to 16 letters, digits, spaces and hyphens.
fault_phone = Phone has to be a phone number of the country, or in international form such as +14155550100.
fault_choice = { $label } is none of those that are offered.
fault_signer = Your name has to be your first and last name, as they stand in the agreement.
fault_consent = Please tick the box about electronic records.
fault_not_served = This address is outside the area that is served.
fault_other = Please check this: { $label }.
refused = That did not work.
provider_unreachable = We cannot reach the page that you need for this step. Nothing was charged. Please try again in a few minutes.
hold_not_renewed = Your bank did not renew the reservation of your deposit. It holds until { $time }: sign your lease before then. Otherwise you will be asked for the deposit anew, and can use another card.
first_payment_failed = Your first monthly payment failed, so that your lease cannot begin.
last_payment_failed = Your last monthly payment failed.
payment_failed = The last payment failed.

## The life of the lease

milestones = How your lease goes on
milestone_confirmed = Confirmed
milestone_shipped = Sent
milestone_delivered = Delivered
milestone_began = Lease begins
milestone_ends = Lease ends
milestone_return = Return started
milestone_returned = Returned
milestone_to_come = still to come
shipment = Your shipment
tracking_number = Tracking number { $number } ({ $carrier })
nothing_heard_yet = The carrier has told nothing yet.
tracking_unknown = The carrier has no information yet
tracking_pre_transit = The carrier has been told of the shipment
tracking_in_transit = The shipment is on its way
tracking_out_for_delivery = The shipment is out for delivery
tracking_available_for_pickup = The shipment can be picked up
tracking_delivered = The shipment was delivered
tracking_return_to_sender = The shipment is being returned to the sender
tracking_failure = The shipment could not be delivered
tracking_cancelled = The shipment was cancelled
tracking_error = The carrier reports an error
payments = Your payments
payment_date = Date
payment_for = For
payment_amount = Amount
payment_state = State
for_deposit = Deposit
for_month = Monthly payment
for_extra = Correction or extra charge
for_refund = Refund
payment_reserved = reserved
payment_pending = under way
payment_paid = paid
payment_missed = failed
next_payment = Next payment:
further_payments =
    { $count ->
        [one] { $count } further payment
       *[other] { $count } further payments
    }
no_payments_yet = Nothing was paid yet.
how_you_pay = How you pay
agreement = Your agreement
agreement_signed = Signed { $time }.
agreement_in_english = It is written in English.
giving_back = Giving it back
give_back_now = Pack the goods as you received them, with all that came with them. { $name } tells you where to send them or where to bring them.
give_back_later = When the lease ends you give the goods back, or buy them. { $name } tells you how; ask before if you would like to end it earlier.
contact = Contact
ask_whom = { $name } answers your questions.

## The link, once more

link_again_title = Have your link mailed to you
link_again_text = Give the number of the checkout and the e-mail address that it is for.
link_again_checkout = Number of the checkout, such as chk_0345Nd8jqBSVLs1aoT6tLA
link_again_email = E-mail address
link_again_send = Mail me the link
link_again_asked_title = Look into your mailbox
link_again_asked_text = If there is such a checkout for this address, its link is on its way there. It can take a few minutes; ask again after a quarter of an hour at the earliest.

## Mails

mail_open_lease = Open my lease
mail_read_and_sign = Read and sign
mail_pay = Pay, or change the card
mail_checkout_link_subject = Your lease with { $name }
mail_checkout_link_text = { $name } has prepared a lease for you: { $item }. Open it to see what it costs and to go on.
mail_off_waitlist_subject = It is your turn
mail_off_waitlist_text = You are off the waitlist: you can go on with your lease of { $item } now.
mail_agreement_ready_subject = Your agreement is ready
mail_agreement_ready_text = The agreement for { $item } is ready. Please read it and sign it.
mail_agreement_signed_subject = Your signed agreement
mail_agreement_signed_text = Thank you for signing. The agreement with { $name } for { $item } is attached. Please keep it.
mail_refused_subject = Your application to { $name }
mail_refused_text = { $name } cannot offer you a lease of { $item }. Nothing was charged.
mail_shipped_text = { $item } is on its way to you. Your lease begins when it arrives.
mail_payment_failed_subject = Your payment failed
mail_payment_failed_text = A payment for { $item } failed. You can try it again, or pay with another card from now on.
mail_ends_soon_subject = Your lease ends on { $day }
mail_ends_soon_text = Your lease of { $item } ends on { $day }.
mail_link_again_subject = The link of your lease
mail_link_again_text = This is the link of your lease of { $item }, as it was asked for. If it was not you who asked, there is nothing for you to do.
mail_attention_subject = Checkout { $id } needs attention
mail_attention_text = Somebody of you has to look at checkout { $id }:
mail_endpoint_subject = A webhook endpoint is disabled
mail_endpoint_text = Nothing is sent to { $url } any more:
mail_endpoint_gone = It answered 410 Gone.
mail_endpoint_failing = Every attempt failed for five days.
mail_endpoint_advice = Enable { $id } when it answers again, and replay what happened meanwhile.
mail_why_customer = You get this mail because of your lease with { $name }. It is no advertising.
mail_why_organization = You get this mail because { $name } has it sent here.
