//! The tables as Diesel knows them. Written by hand, in the columns' order of the
//! migrations; a test compares this with a migrated database.

diesel::table! {
    organizations (id) {
        id -> BigInt,
        pub_id -> Uuid,
        name -> Text,
        currency -> Text,
        discount -> Numeric,
        service_area -> Array<Text>,
        requires_product_review -> Bool,
        oftake_partner_id -> BigInt,
        face -> Json,
        sandbox_writes_catalog -> Nullable<Bool>,
        first_live_key_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    pickup_locations (organization_id, id) {
        organization_id -> BigInt,
        id -> BigInt,
        name -> Text,
        address -> Json,
        active -> Bool,
    }
}

diesel::table! {
    customers (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        user_id -> BigInt,
        mode -> Text,
        email -> Text,
        email_folded -> Text,
        first_name -> Nullable<Text>,
        last_name -> Nullable<Text>,
        address1 -> Nullable<Text>,
        address2 -> Nullable<Text>,
        city -> Nullable<Text>,
        state -> Nullable<Text>,
        zip -> Nullable<Text>,
        country -> Nullable<Text>,
        phone -> Nullable<Text>,
        sealed_birth_date -> Nullable<Bytea>,
        identity -> Text,
        verification_session_id -> Nullable<Text>,
        credit -> Text,
        credit_at -> Nullable<Timestamptz>,
        credit_ip_address -> Nullable<Text>,
        processor_id -> Nullable<Text>,
        metadata -> Jsonb,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        erased_at -> Nullable<Timestamptz>,
        version -> BigInt,
    }
}

diesel::table! {
    customer_metadata (organization_id, customer_id, key) {
        organization_id -> BigInt,
        customer_id -> Uuid,
        key -> Text,
        value -> Text,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Uuid,
        organization_id -> BigInt,
        user_id -> BigInt,
        user_pub_id -> Uuid,
        kind -> Text,
        mode -> Text,
        permissions -> Array<Text>,
        name -> Nullable<Text>,
        hash -> Bytea,
        hint -> Text,
        created_at -> Timestamptz,
        expires_at -> Nullable<Timestamptz>,
        revoked_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    api_key_uses (organization_id, key_id) {
        organization_id -> BigInt,
        key_id -> Uuid,
        at -> Timestamptz,
    }
}

diesel::table! {
    product_categories (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        category_id -> BigInt,
        name -> Text,
        name_folded -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    products (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        name -> Text,
        description -> Text,
        options -> Json,
        price -> BigInt,
        currency -> Text,
        discount -> Nullable<Numeric>,
        source -> Text,
        product_type -> Text,
        review_status -> Text,
        review_notes -> Nullable<Text>,
        reviewed_at -> Nullable<Timestamptz>,
        reviewed_by -> Nullable<BigInt>,
        status -> Text,
        is_waitlisted -> Bool,
        ignore_upstream_updates -> Bool,
        external_id -> Nullable<Text>,
        sku -> Nullable<Text>,
        main_image -> Nullable<Text>,
        category_id -> Nullable<BigInt>,
        metadata -> Jsonb,
        search_text -> Text,
        search_grams -> Array<Integer>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    product_metadata (organization_id, product_id, key) {
        organization_id -> BigInt,
        product_id -> Uuid,
        key -> Text,
        value -> Text,
    }
}

diesel::table! {
    product_search_pieces (organization_id, piece, product_id) {
        organization_id -> BigInt,
        piece -> Integer,
        product_id -> Uuid,
    }
}

diesel::table! {
    product_variants (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        product_id -> Uuid,
        name -> Text,
        description -> Text,
        options -> Json,
        combination -> Bytea,
        price -> BigInt,
        currency -> Text,
        discount -> Nullable<Numeric>,
        images -> Array<Text>,
        sku -> Text,
        external_id -> Nullable<Text>,
        status -> Text,
        is_waitlisted -> Bool,
        live_inventory -> Nullable<Integer>,
        sandbox_inventory -> Nullable<Integer>,
        product_year -> Nullable<Integer>,
        metadata -> Jsonb,
        search_text -> Text,
        search_grams -> Array<Integer>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    variant_search_pieces (organization_id, piece, variant_id) {
        organization_id -> BigInt,
        piece -> Integer,
        variant_id -> Uuid,
    }
}

diesel::table! {
    lease_terms (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        lease_term_id -> BigInt,
        product_id -> Nullable<Uuid>,
        term_in_months -> Integer,
        money_factor -> Nullable<Numeric>,
        annual_rate -> Nullable<Numeric>,
        residual_percentage -> Numeric,
        deposit_percentage -> Numeric,
        insurance_percentage -> Numeric,
        status -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    pricing_revisions (organization_id) {
        organization_id -> BigInt,
        revision -> BigInt,
    }
}

diesel::table! {
    catalog_revisions (organization_id) {
        organization_id -> BigInt,
        revision -> BigInt,
    }
}

diesel::table! {
    lifecycle_states (name) {
        name -> Text,
        phase -> Text,
        is_ended -> Bool,
        expires -> Bool,
        waits_for -> Text,
        may_hold_stock -> Bool,
        is_confirmed -> Bool,
        is_leased -> Bool,
        is_under_way -> Bool,
    }
}

diesel::table! {
    checkouts (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        mode -> Text,
        customer_id -> Uuid,
        user_id -> BigInt,
        product_id -> Uuid,
        variant_id -> Uuid,
        term_id -> Nullable<Uuid>,
        lease_term_id -> Nullable<BigInt>,
        term_in_months -> Nullable<Integer>,
        lifecycle -> Text,
        previous_lifecycle -> Nullable<Text>,
        is_ended -> Bool,
        expires -> Bool,
        waits_for -> Text,
        may_hold_stock -> Bool,
        is_leased -> Bool,
        external_order_id -> Nullable<Text>,
        insurance_status -> Text,
        holds_stock -> Bool,
        waiting_since -> Nullable<Timestamptz>,
        lease_start -> Nullable<Date>,
        lease_end -> Nullable<Date>,
        confirmed_at -> Nullable<Timestamptz>,
        active_at -> Nullable<Timestamptz>,
        cancel_reason -> Nullable<Text>,
        attention -> Jsonb,
        acted_at -> Timestamptz,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    checkout_items (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        checkout_id -> Uuid,
        position -> Integer,
        variant_id -> Uuid,
        sku -> Text,
        name -> Text,
        serial_number -> Nullable<Text>,
    }
}

diesel::table! {
    checkout_applications (organization_id, checkout_id) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        purchase_items -> Jsonb,
        redirects -> Json,
        way_out -> Nullable<Text>,
        given_profile -> Nullable<Json>,
        billing -> Json,
        shipping -> Json,
        pickup_location_id -> Nullable<BigInt>,
        identity_requested_at -> Nullable<Timestamptz>,
        quote -> Nullable<Json>,
        accepted_at -> Nullable<Timestamptz>,
        accepted_version -> Nullable<Text>,
        lease_document_id -> Nullable<Text>,
        signed_at -> Nullable<Timestamptz>,
        page_nonce -> Bytea,
        page_token_hashes -> Array<Bytea>,
        metadata -> Jsonb,
    }
}

diesel::table! {
    ended_checkout_links (organization_id, page_nonce) {
        organization_id -> BigInt,
        page_nonce -> Bytea,
        checkout_id -> Uuid,
        page_token_hashes -> Array<Bytea>,
        ended_at -> Timestamptz,
    }
}

diesel::table! {
    checkout_waits (organization_id, checkout_id) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        reason -> Text,
        address -> Nullable<Json>,
        reason_code -> Nullable<Text>,
    }
}

diesel::table! {
    checkout_deposits (organization_id, checkout_id) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        mode -> Text,
        state -> Text,
        method_id -> Nullable<Text>,
        submitted_at -> Nullable<Timestamptz>,
        payment_intent_id -> Nullable<Text>,
        hold_expires_at -> Nullable<Timestamptz>,
        renewals_made -> Nullable<Integer>,
        renewals_refused -> Nullable<Integer>,
        renewal_refused_at -> Nullable<Timestamptz>,
        renewal_is_barred -> Nullable<Bool>,
        capture_requested_at -> Nullable<Timestamptz>,
        invoice_id -> Nullable<Text>,
        captured_at -> Nullable<Timestamptz>,
        lapses -> Bool,
    }
}

diesel::table! {
    checkout_billing (organization_id, checkout_id) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        mode -> Text,
        state -> Text,
        requested_at -> Nullable<Timestamptz>,
        subscription_id -> Nullable<Text>,
        standing -> Nullable<Text>,
        method -> Nullable<Json>,
        paid_cycles -> Integer,
        failure_count -> Integer,
        last_failure -> Nullable<Json>,
        dispute_id -> Nullable<Text>,
        settled_dispute_id -> Nullable<Text>,
    }
}

diesel::table! {
    checkout_shipments (organization_id, checkout_id) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        tracking_number -> Nullable<Text>,
        tracking_carrier -> Nullable<Text>,
        tracking_status -> Nullable<Text>,
        heard_at -> Nullable<Timestamptz>,
        shipped_at -> Nullable<Timestamptz>,
        delivered_at -> Nullable<Timestamptz>,
        signed_by -> Nullable<Text>,
        is_under_way -> Bool,
        tracking_turn -> Nullable<BigInt>,
    }
}

diesel::table! {
    checkout_returns (organization_id, checkout_id) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        initiated_at -> Nullable<Timestamptz>,
        completed_at -> Nullable<Timestamptz>,
        cancelled_at -> Nullable<Timestamptz>,
        reason -> Nullable<Text>,
        notes -> Nullable<Text>,
    }
}

diesel::table! {
    checkout_metadata (organization_id, checkout_id, key) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        key -> Text,
        value -> Text,
    }
}

diesel::table! {
    checkout_purchases (organization_id, variant_id, checkout_id) {
        organization_id -> BigInt,
        variant_id -> Text,
        checkout_id -> Uuid,
    }
}

diesel::table! {
    ledger_entries (organization_id, mode, id) {
        organization_id -> BigInt,
        mode -> Text,
        id -> Text,
        checkout_id -> Uuid,
        sequence -> BigInt,
        kind -> Text,
        state -> Text,
        amount -> BigInt,
        currency -> Text,
        at -> Timestamptz,
        ends_at -> Nullable<Timestamptz>,
        anchor -> Nullable<Timestamptz>,
        payments -> Nullable<Integer>,
        subscription_id -> Nullable<Text>,
        is_cycle -> Nullable<Bool>,
        payment_intent_id -> Nullable<Text>,
        failed_attempts -> Nullable<Integer>,
        failure_code -> Nullable<Text>,
        failure_message -> Nullable<Text>,
        session_id -> Nullable<Text>,
        purpose -> Nullable<Text>,
    }
}

diesel::table! {
    checkout_transitions (organization_id, checkout_id, sequence) {
        organization_id -> BigInt,
        checkout_id -> Uuid,
        sequence -> BigInt,
        from_lifecycle -> Text,
        event -> Text,
        to_lifecycle -> Text,
        at -> Timestamptz,
        actor -> Text,
        key_id -> Nullable<Uuid>,
        reason -> Nullable<Text>,
    }
}

diesel::table! {
    customer_keys (organization_id, customer_id) {
        organization_id -> BigInt,
        customer_id -> Uuid,
        key -> Bytea,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    audit_events (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        at -> Timestamptz,
        area -> Text,
        actor_kind -> Text,
        actor_id -> Text,
        actor_name -> Nullable<Text>,
        request_id -> Nullable<Text>,
        address -> Nullable<Text>,
        action -> Text,
        subject -> Text,
        customer_id -> Nullable<Uuid>,
        before -> Nullable<Json>,
        after -> Nullable<Json>,
        sealed -> Nullable<Bytea>,
    }
}

diesel::table! {
    event_feeds (organization_id, mode) {
        organization_id -> BigInt,
        mode -> Text,
        last_sequence -> BigInt,
    }
}

diesel::table! {
    events (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        mode -> Text,
        sequence -> BigInt,
        event_type -> Text,
        subject_type -> Text,
        subject_id -> Uuid,
        created_at -> Timestamptz,
        request_id -> Nullable<Text>,
        customer_id -> Nullable<Uuid>,
        object -> Nullable<Text>,
        previous -> Nullable<Text>,
        sealed -> Nullable<Bytea>,
    }
}

diesel::table! {
    unnumbered_events (organization_id, mode, written) {
        organization_id -> BigInt,
        mode -> Text,
        written -> BigInt,
        id -> Uuid,
        event_type -> Text,
        subject_type -> Text,
        subject_id -> Uuid,
        created_at -> Timestamptz,
        request_id -> Nullable<Text>,
        customer_id -> Nullable<Uuid>,
        object -> Nullable<Text>,
        previous -> Nullable<Text>,
        sealed -> Nullable<Bytea>,
    }
}

diesel::table! {
    webhook_endpoints (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        mode -> Text,
        slot -> SmallInt,
        url -> Text,
        types -> Array<Text>,
        description -> Nullable<Text>,
        status -> Text,
        disabled_reason -> Nullable<Text>,
        sealed_secret -> Bytea,
        sealed_old_secret -> Nullable<Bytea>,
        old_secret_until -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    webhook_endpoint_health (organization_id, endpoint_id) {
        organization_id -> BigInt,
        endpoint_id -> Uuid,
        failures -> Integer,
        failing_since -> Nullable<Timestamptz>,
        last_failed_at -> Nullable<Timestamptz>,
        resting_until -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    deliveries (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        mode -> Text,
        endpoint_id -> Uuid,
        event_id -> Uuid,
        event_type -> Text,
        subject_id -> Uuid,
        sequence -> BigInt,
        status -> Text,
        attempts -> Integer,
        claims -> Integer,
        due_at -> Nullable<Timestamptz>,
        claimed_until -> Nullable<Timestamptz>,
        response_status -> Nullable<Integer>,
        response_body -> Nullable<Text>,
        duration_ms -> Nullable<BigInt>,
        error -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    mails (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        mode -> Text,
        kind -> Text,
        subject_kind -> Text,
        subject_id -> Uuid,
        cause -> Text,
        state -> Text,
        attempts -> Integer,
        claims -> Integer,
        due_at -> Nullable<Timestamptz>,
        claimed_until -> Nullable<Timestamptz>,
        reason -> Nullable<Text>,
        recipient_mark -> Nullable<Binary>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    mail_suppressions (organization_id, address_mark) {
        organization_id -> BigInt,
        address_mark -> Binary,
        reason -> Text,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    agreements (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        checkout_id -> Uuid,
        pdf -> Nullable<Bytea>,
        sha256 -> Bytea,
        terms_version -> Nullable<Integer>,
        signer -> Text,
        created_at -> Timestamptz,
        signed_at -> Nullable<Timestamptz>,
        signer_name -> Nullable<Text>,
        consent_version -> Nullable<Text>,
        signer_reference -> Nullable<Text>,
    }
}

diesel::table! {
    agreement_events (organization_id, agreement_id, sequence) {
        organization_id -> BigInt,
        agreement_id -> Uuid,
        sequence -> Integer,
        event -> Text,
        at -> Timestamptz,
        address -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        sha256 -> Bytea,
    }
}

diesel::table! {
    signers (organization_id, mode) {
        organization_id -> BigInt,
        mode -> Text,
        kind -> Text,
        url -> Nullable<Text>,
        sealed_secret -> Nullable<Bytea>,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    agreement_terms (organization_id, version) {
        organization_id -> BigInt,
        version -> Integer,
        text -> Text,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    unclaimed_tracking_events (dedupe_key) {
        dedupe_key -> Bytea,
        tracking_number -> Text,
        carrier -> Text,
        at -> Timestamptz,
        status -> Text,
        description -> Nullable<Text>,
        location -> Nullable<Text>,
        signed_by -> Nullable<Text>,
        estimated_delivery -> Nullable<Timestamptz>,
        origin -> Text,
        received_at -> Timestamptz,
    }
}

diesel::table! {
    tracking_events (organization_id, id) {
        organization_id -> BigInt,
        id -> BigInt,
        checkout_id -> Uuid,
        tracking_number -> Text,
        carrier -> Text,
        at -> Timestamptz,
        status -> Text,
        description -> Nullable<Text>,
        location -> Nullable<Text>,
        signed_by -> Nullable<Text>,
        estimated_delivery -> Nullable<Timestamptz>,
        origin -> Text,
        received_at -> Timestamptz,
        dedupe_key -> Bytea,
    }
}

diesel::table! {
    jobs (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        sequence -> BigInt,
        effect -> Text,
        subject_kind -> Text,
        subject_id -> Uuid,
        mode -> Text,
        created_at -> Timestamptz,
        available_at -> Timestamptz,
        state -> Text,
        units -> Nullable<Integer>,
        attempts -> Integer,
        first_attempt_at -> Nullable<Timestamptz>,
        claimed_until -> Nullable<Timestamptz>,
        last_error -> Nullable<Text>,
        done_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    inbox_messages (source, id) {
        source -> Text,
        id -> Text,
        sequence -> BigInt,
        mode -> Text,
        organization_id -> Nullable<BigInt>,
        body -> Bytea,
        received_at -> Timestamptz,
        state -> Text,
        due_at -> Timestamptz,
        handled_at -> Nullable<Timestamptz>,
        problem -> Nullable<Text>,
    }
}

diesel::table! {
    cursors (walk) {
        walk -> Text,
        position -> Text,
    }
}

diesel::table! {
    idempotency_answers (organization_id, key_hash) {
        organization_id -> BigInt,
        key_hash -> Bytea,
        mode -> Text,
        path -> Text,
        key -> Text,
        request_hash -> Bytea,
        status -> SmallInt,
        body -> Bytea,
        is_existing -> Bool,
        is_final -> Bool,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_calls (organization_id, operation, idempotency_key) {
        organization_id -> BigInt,
        operation -> Text,
        idempotency_key -> Text,
        request_hash -> Bytea,
        answer -> Nullable<Json>,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_attempts (organization_id, operation, checkout_id) {
        organization_id -> BigInt,
        operation -> Text,
        checkout_id -> Uuid,
        attempts -> Integer,
    }
}

diesel::table! {
    simulated_products (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        name -> Text,
        description -> Text,
        active -> Bool,
        lessor_id -> Uuid,
        monthly_prices -> Json,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_customers (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        customer_id -> Uuid,
        email -> Text,
        name -> Nullable<Text>,
        phone -> Nullable<Text>,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_payment_methods (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        customer_id -> Uuid,
        test_card -> Text,
        details -> Json,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_payment_intents (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        checkout_id -> Uuid,
        customer_id -> Uuid,
        email -> Text,
        amount_minor -> BigInt,
        currency -> Text,
        payment_method_id -> Text,
        status -> Text,
        expires_at -> Timestamptz,
        invoice_id -> Nullable<Text>,
        captured_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_refunds (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        payment_intent_id -> Text,
        amount_minor -> BigInt,
        currency -> Text,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    simulated_subscriptions (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        checkout_id -> Uuid,
        email -> Text,
        payment_method_id -> Text,
        amount_minor -> BigInt,
        currency -> Text,
        anchor -> Date,
        billed_cycles -> Integer,
        next_on -> Date,
        ends_at -> Timestamptz,
        status -> Text,
        created_at -> Timestamptz,
        ended_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    simulated_invoices (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        subscription_id -> Text,
        cycle -> Integer,
        due_on -> Date,
        payment_intent_id -> Text,
        status -> Text,
        attempts -> Integer,
        failure_code -> Nullable<Text>,
        failure_message -> Nullable<Text>,
        since -> Timestamptz,
        told_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    simulated_identity_sessions (organization_id, id) {
        organization_id -> BigInt,
        id -> Text,
        checkout_id -> Uuid,
        customer_id -> Uuid,
        email -> Text,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    processor_accounts (organization_id, mode) {
        organization_id -> BigInt,
        mode -> Text,
        sealed_key -> Bytea,
        sealed_webhook_secrets -> Bytea,
        key_hint -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    server_key (is_here) {
        is_here -> Bool,
        fingerprint -> Bytea,
        former_fingerprint -> Nullable<Bytea>,
        since -> Timestamptz,
    }
}

diesel::table! {
    credit_policies (organization_id, mode) {
        organization_id -> BigInt,
        mode -> Text,
        kind -> Text,
        url -> Nullable<Text>,
        sealed_secret -> Nullable<Bytea>,
        currency -> Nullable<Text>,
        max_monthly_payment -> Nullable<BigInt>,
        max_open_leases -> Nullable<BigInt>,
        max_total_exposure -> Nullable<BigInt>,
        countries -> Nullable<Array<Text>>,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    qualifications (organization_id, id) {
        organization_id -> BigInt,
        id -> Uuid,
        sequence -> BigInt,
        mode -> Text,
        checkout_id -> Uuid,
        customer_id -> Uuid,
        decision -> Text,
        source -> Text,
        key_id -> Nullable<Uuid>,
        reasons -> Array<Text>,
        reference -> Nullable<Text>,
        amount -> Nullable<BigInt>,
        currency -> Nullable<Text>,
        rests_on -> Nullable<Uuid>,
        decided_at -> Timestamptz,
        expires_at -> Nullable<Timestamptz>,
        ended_at -> Nullable<Timestamptz>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    organizations,
    pickup_locations,
    customers,
    api_keys,
    product_categories,
    products,
    product_variants,
    lease_terms,
    pricing_revisions,
    catalog_revisions,
    checkouts,
    checkout_items,
    checkout_applications,
    checkout_waits,
    checkout_deposits,
    checkout_billing,
    checkout_shipments,
    checkout_returns,
    ledger_entries,
    checkout_transitions,
    ended_checkout_links,
    tracking_events,
    agreements,
    agreement_events,
    qualifications,
);

diesel::allow_tables_to_appear_in_same_query!(simulated_subscriptions, simulated_invoices);
