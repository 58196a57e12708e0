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
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    pickup_locations (id) {
        id -> BigInt,
        organization_id -> BigInt,
        name -> Text,
        address -> Jsonb,
        active -> Bool,
    }
}

diesel::table! {
    customers (id) {
        id -> Uuid,
        user_id -> BigInt,
        organization_id -> BigInt,
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
        live_identity -> Text,
        live_verification_session_id -> Nullable<Text>,
        live_credit -> Text,
        live_credit_at -> Nullable<Timestamptz>,
        live_credit_ip_address -> Nullable<Text>,
        live_processor_id -> Nullable<Text>,
        sandbox_identity -> Text,
        sandbox_verification_session_id -> Nullable<Text>,
        sandbox_credit -> Text,
        sandbox_credit_at -> Nullable<Timestamptz>,
        sandbox_credit_ip_address -> Nullable<Text>,
        sandbox_processor_id -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    api_keys (id) {
        id -> Uuid,
        organization_id -> BigInt,
        user_id -> BigInt,
        mode -> Text,
        permissions -> Array<Text>,
        name -> Nullable<Text>,
        hash -> Bytea,
        hint -> Text,
        created_at -> Timestamptz,
        expires_at -> Nullable<Timestamptz>,
        revoked_at -> Nullable<Timestamptz>,
        last_used_at -> Nullable<Timestamptz>,
    }
}

diesel::table! {
    product_categories (id) {
        id -> Uuid,
        category_id -> BigInt,
        organization_id -> BigInt,
        name -> Text,
        name_folded -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    products (id) {
        id -> Uuid,
        organization_id -> BigInt,
        name -> Text,
        description -> Text,
        options -> Jsonb,
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
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    product_variants (id) {
        id -> Uuid,
        product_id -> Uuid,
        organization_id -> BigInt,
        name -> Text,
        description -> Text,
        options -> Jsonb,
        combination -> Bytea,
        price -> BigInt,
        currency -> Text,
        discount -> Nullable<Numeric>,
        images -> Array<Text>,
        sku -> Text,
        external_id -> Nullable<Text>,
        status -> Text,
        is_waitlisted -> Bool,
        inventory -> Nullable<Integer>,
        product_year -> Nullable<Integer>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        version -> BigInt,
    }
}

diesel::table! {
    lease_terms (id) {
        id -> Uuid,
        lease_term_id -> BigInt,
        organization_id -> BigInt,
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
);
