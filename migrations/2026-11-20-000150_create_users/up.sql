-- The number and the public id of each customer, which keys and reviews refer to; a person has one in each mode. They
-- are nobody's own: a key is looked up before it is known whose it is. What else is known of a customer is its
-- organization's.
create table users (
    id bigint generated always as identity,
    pub_id uuid not null,
    constraint users_pkey primary key (id),
    constraint users_pub_id_key unique (pub_id)
);
