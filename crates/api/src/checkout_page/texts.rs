//! The texts of the page, by name: a catalogue of Fluent for each language, embedded.
//!
//! A text is a function of [`Reader`]: one that nobody calls does not compile without a warning, nor does one
//! that is called with other arguments than it has. That the catalogues have the same is tested.

use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;

use super::locale::{Language, Reader};

type Catalogue = FluentBundle<FluentResource>;

const ENGLISH: &str = include_str!("../../locales/en/page.ftl");
const SPANISH: &str = include_str!("../../locales/es/page.ftl");

static IN_ENGLISH: LazyLock<Catalogue> = LazyLock::new(|| catalogue(ENGLISH, Language::English));
static IN_SPANISH: LazyLock<Catalogue> = LazyLock::new(|| catalogue(SPANISH, Language::Spanish));

/// What is wrong with a catalogue a test says.
fn catalogue(source: &str, language: Language) -> Catalogue {
    let plurals: Option<LanguageIdentifier> = language.code().parse().ok();
    let mut catalogue = Catalogue::new_concurrent(plurals.into_iter().collect());
    // Both languages run from left to right.
    catalogue.set_use_isolating(false);
    let resource = match FluentResource::try_new(source.to_owned()) {
        Ok(resource) | Err((resource, _)) => resource,
    };
    catalogue.add_resource_overriding(resource);
    catalogue
}

impl Language {
    fn catalogue(self) -> &'static Catalogue {
        match self {
            Self::English => &IN_ENGLISH,
            Self::Spanish => &IN_SPANISH,
        }
    }

    fn say<const N: usize>(self, id: &str, given: [(&'static str, FluentValue<'_>); N]) -> String {
        let catalogue = self.catalogue();
        let Some(pattern) = catalogue.get_message(id).and_then(|text| text.value()) else {
            return String::new();
        };
        let given: FluentArgs<'_> = given.into_iter().collect();
        let said = catalogue.format_pattern(pattern, Some(&given), &mut Vec::new());
        said.into_owned()
    }
}

/// The function of one text.
macro_rules! text {
    ($name:ident()) => {
        pub(crate) fn $name(&self) -> String {
            self.language.say(stringify!($name), [])
        }
    };
    ($name:ident($($argument:ident),+)) => {
        pub(crate) fn $name<'a>(&'a self, $($argument: impl Into<FluentValue<'a>>),+) -> String {
            let given = [$((stringify!($argument), $argument.into())),+];
            self.language.say(stringify!($name), given)
        }
    };
}

/// Names the texts, as the catalogues do, with what each has to be told.
macro_rules! texts {
    ($($name:ident($($argument:ident),*);)*) => {
        impl Reader {
            $(text! { $name($($argument),*) })*
        }

        #[cfg(test)]
        const TEXTS: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($argument)),*])),*];
    };
}

texts! {
    // Around the page.
    skip_to_step();
    page_title(title, name);
    error_title(title);
    sandbox();
    sandbox_means();
    questions(name);
    terms_of_business();
    privacy();
    other_language();

    // Pages that only say something.
    missing_title();
    missing_text();
    replaced_title();
    replaced_text(name);
    personal_title();
    personal_text();
    personal_advice();
    elsewhere_title();
    elsewhere_text();
    method_title();
    method_text();
    timeout_title();
    timeout_text();
    large_title();
    large_text();
    many_title();
    many_text();
    broken_title();
    broken_text();
    unreadable_title();
    unreadable_text();
    back_to_checkout();
    number_of_failure(id);

    // The way, and how far it is.
    steps();
    step_of(name, number, total);
    step_details();
    step_identity();
    step_qualification();
    step_delivery();
    step_review();
    step_deposit();
    step_method();
    step_signature();
    step_confirmation();
    how_far();

    // Where it stands.
    who_are_you();
    who_are_you_text();
    identity_required();
    identity_required_text();
    identity_verifying_text();
    identity_processing();
    qualification_pending();
    qualification_by_hand_text();
    shipping_address_pending();
    shipping_address_pending_text();
    pickup_location_pending();
    pickup_location_pending_text();
    lease_review_pending();
    lease_review_pending_text();
    deposit_pending();
    deposit_pending_text();
    deposit_processing();
    deposit_failed();
    deposit_failed_text();
    pays_elsewhere();
    pays_elsewhere_text();
    signs_elsewhere_text();
    method_pending();
    method_pending_text();
    documents_pending();
    documents_pending_text();
    documents_prepared();
    documents_signed();
    documents_signed_text();
    capture_failed();
    capture_failed_text();
    order_confirmed();
    order_confirmed_text();
    addendums_pending();
    addendums_pending_text();
    shipped();
    shipped_text();
    fulfillment_exception();
    fulfillment_exception_text();
    lease_active();
    lease_active_text();
    return_pending();
    return_pending_text();
    returned();
    returned_text();
    waitlisted();
    waitlisted_for_stock_text();
    waitlisted_with_deposit_text();
    waitlisted_for_location();
    waitlisted_for_location_text();
    place_in_line(place);
    cancelled();
    cancelled_text();
    expired();
    expired_text();
    identity_failed();
    qualification_failed();
    cannot_go_on_text();
    a_moment_text();
    look_again();

    // Why credit was refused.
    principal_reasons();
    ask_about_decision(name);
    credit_application_incomplete();
    insufficient_credit_references();
    unacceptable_credit_references();
    unable_to_verify_credit_references();
    temporary_or_irregular_employment();
    unable_to_verify_employment();
    length_of_employment();
    income_insufficient();
    excessive_obligations();
    unable_to_verify_income();
    length_of_residence();
    temporary_residence();
    unable_to_verify_residence();
    no_credit_file();
    limited_credit_experience();
    poor_performance_with_us();
    delinquent_obligations();
    collection_or_judgment();
    garnishment_or_attachment();
    foreclosure_or_repossession();
    bankruptcy();
    recent_inquiries();
    collateral_insufficient();
    other_reasons();

    // What is leased, and what it costs.
    your_lease();
    option_chosen(name, value);
    about_the_item();
    serial_number(number);
    monthly(amount);
    how_long();
    no_terms();
    term();
    months(count);
    your_choice();
    every_month();
    in_all();
    purchase_price();
    change_the_term();
    choose_this_term();
    monthly_payment();
    insurance();
    monthly_total();
    taken_when();
    deposit();
    times(name, quantity);
    reserved_with_deposit();
    first_month_on_delivery();
    first_month_on_shipment();
    due_at_signing();
    list_price();
    discount();
    percent(value);
    monthly_payments(count);
    price_at_the_end();
    shipped_to();
    picked_up_at();

    // What the customer does.
    first_name();
    last_name();
    company();
    address1();
    address2();
    city();
    zip();
    state();
    country_label();
    choose_a_country();
    countries_served();
    other_countries();
    this_entry();
    phone();
    signer_name();
    optional();
    write_to(email);
    on_file(name);
    go_on();
    save_and_go_on();
    verified_elsewhere();
    start_verification();
    continue_verification();
    hand_in_documents();
    address_is_set(name);
    ship_to_this_address();
    ship_it_there();
    pick_it_up_instead();
    no_pickup_location();
    pickup_location();
    pick_it_up_there();
    have_it_shipped();
    choose_term_first();
    accept_these_terms();
    paid_elsewhere();
    go_to_payment();
    go_on_with_payment();
    do_not_pay_now();
    sandbox_card();
    authorize_deposit();
    authorized_with(card);
    use_this_card();
    use_another_card();
    enter_a_card();
    sign_summary(months, monthly, total, deposit);
    open_agreement();
    read_agreement();
    hash_of_document();
    sign_the_lease();
    retry_deposit();
    pay_with();
    card();
    card_declined();
    card_on_file(card);
    collected_from(card);
    retry_payment();
    back_a_step();
    cancel_checkout();
    cancel_means();
    cancel_for_good();
    to_the_shop();
    back_to_the_shop();

    // What the customer agrees to.
    disclosures();
    disclosed_payments(count, amount);
    disclosed_first_on_delivery(amount);
    disclosed_first_on_shipment(amount);
    disclosed_at_signing(amount);
    disclosed_total(amount);
    disclosed_deposit(amount);
    disclosed_insurance(amount);
    disclosed_no_insurance();
    disclosed_purchase(amount);
    disclosed_early_end();
    disclosed_no_other_charges();

    // What is wrong.
    there_is_a_problem();
    fault_missing(label);
    fault_too_long(label, most);
    fault_characters(label);
    fault_state();
    fault_us_zip();
    fault_ca_zip();
    fault_au_zip();
    fault_zip();
    fault_phone();
    fault_choice(label);
    fault_signer();
    fault_consent();
    fault_not_served();
    fault_other(label);
    refused();
    provider_unreachable();
    hold_not_renewed(time);
    first_payment_failed();
    last_payment_failed();
    payment_failed();

    // The life of the lease.
    milestones();
    milestone_confirmed();
    milestone_shipped();
    milestone_delivered();
    milestone_began();
    milestone_ends();
    milestone_return();
    milestone_returned();
    milestone_to_come();
    shipment();
    tracking_number(number, carrier);
    nothing_heard_yet();
    tracking_unknown();
    tracking_pre_transit();
    tracking_in_transit();
    tracking_out_for_delivery();
    tracking_available_for_pickup();
    tracking_delivered();
    tracking_return_to_sender();
    tracking_failure();
    tracking_cancelled();
    tracking_error();
    payments();
    payment_date();
    payment_for();
    payment_amount();
    payment_state();
    for_deposit();
    for_month();
    for_extra();
    for_refund();
    payment_reserved();
    payment_pending();
    payment_paid();
    payment_missed();
    next_payment();
    further_payments(count);
    no_payments_yet();
    how_you_pay();
    agreement();
    agreement_signed(time);
    agreement_in_english();
    giving_back();
    give_back_now(name);
    give_back_later(name);
    contact();
    ask_whom(name);

    // The link, once more.
    link_again_title();
    link_again_text();
    link_again_checkout();
    link_again_email();
    link_again_send();
    link_again_asked_title();
    link_again_asked_text();

    // Mails.
    mail_open_lease();
    mail_read_and_sign();
    mail_pay();
    mail_checkout_link_subject(name);
    mail_checkout_link_text(item, name);
    mail_off_waitlist_subject();
    mail_off_waitlist_text(item);
    mail_agreement_ready_subject();
    mail_agreement_ready_text(item);
    mail_agreement_signed_subject();
    mail_agreement_signed_text(item, name);
    mail_refused_subject(name);
    mail_refused_text(item, name);
    mail_shipped_text(item);
    mail_payment_failed_subject();
    mail_payment_failed_text(item);
    mail_ends_soon_subject(day);
    mail_ends_soon_text(item, day);
    mail_link_again_subject();
    mail_link_again_text(item);
    mail_attention_subject(id);
    mail_attention_text(id);
    mail_endpoint_subject();
    mail_endpoint_text(url);
    mail_endpoint_gone();
    mail_endpoint_failing();
    mail_endpoint_advice(id);
    mail_why_customer(name);
    mail_why_organization(name);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use fluent_bundle::FluentResource;

    use super::*;

    /// The messages of a catalogue with the variables of each, as they are written.
    fn messages(source: &str) -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut current = None;
        for line in source.lines().filter(|line| !line.starts_with('#')) {
            if let Some((id, _)) = line.split_once('=')
                && !line.starts_with(char::is_whitespace)
            {
                let id = id.trim().to_owned();
                assert!(!found.contains_key(&id), "{id} is there twice");
                found.insert(id.clone(), BTreeSet::new());
                current = Some(id);
            }
            let Some(known) = current.as_ref().and_then(|id| found.get_mut(id)) else {
                continue;
            };
            for rest in line.split('$').skip(1) {
                let name = rest
                    .chars()
                    .take_while(|it| it.is_alphanumeric() || *it == '_');
                known.insert(name.collect());
            }
        }
        found
    }

    #[test]
    fn both_catalogues_have_each_text_with_its_arguments_and_no_other() {
        let named: BTreeMap<String, BTreeSet<String>> = TEXTS
            .iter()
            .map(|(id, given)| {
                let given = given.iter().map(|name| (*name).to_owned());
                ((*id).to_owned(), given.collect())
            })
            .collect();
        for source in [ENGLISH, SPANISH] {
            assert!(FluentResource::try_new(source.to_owned()).is_ok());
            assert_eq!(messages(source), named);
        }
    }

    #[test]
    fn every_text_is_said_without_a_fault() {
        for language in Language::ALL {
            let catalogue = language.catalogue();
            for (id, arguments) in TEXTS {
                for number in [1, 2] {
                    let given: FluentArgs<'_> = arguments
                        .iter()
                        .map(|name| (*name, FluentValue::from(number)))
                        .collect();
                    let pattern = catalogue.get_message(id).and_then(|text| text.value());
                    let mut faults = Vec::new();
                    let said =
                        catalogue.format_pattern(pattern.unwrap(), Some(&given), &mut faults);
                    assert!(faults.is_empty(), "{id}: {faults:?}");
                    assert!(!said.trim().is_empty(), "{id}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_untranslated() {
        // Words that are the same in both.
        const SAME: [&str; 5] = [
            "page_title",
            "error_title",
            "step_of",
            "option_chosen",
            "times",
        ];
        for (id, arguments) in TEXTS {
            let said = |language: Language| {
                let given: FluentArgs<'_> = arguments
                    .iter()
                    .map(|name| (*name, FluentValue::from("…")))
                    .collect();
                let catalogue = language.catalogue();
                let pattern = catalogue.get_message(id).and_then(|text| text.value());
                let said =
                    catalogue.format_pattern(pattern.unwrap(), Some(&given), &mut Vec::new());
                said.into_owned()
            };
            let [one, other] = Language::ALL.map(said);
            assert!(one != other || SAME.contains(id), "{id}: {one}");
        }
    }

    #[test]
    fn what_is_counted_agrees_with_its_number() {
        let said = |query, count: u32| Reader::of(query, None).months(count);
        assert_eq!(said("lang=en", 1), "1 month");
        assert_eq!(said("lang=en", 24), "24 months");
        assert_eq!(said("lang=es", 1), "1 mes");
        assert_eq!(said("lang=es", 24), "24 meses");
    }
}
