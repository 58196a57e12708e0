-- What products are found by, folded by the domain: lower() of the database folds by its locale.
alter table products add column search_text text not null default '';
alter table product_variants add column search_text text not null default '';

-- Every piece of one, two and three characters of the text, as a number: a text that holds a term holds the term's
-- pieces. Each character is ten bits of it, so that texts of other scripts may share some: who is found is compared.
-- Kept, and not made by the index: whoever plans to compare them row by row would make them anew for each.
alter table products add column search_grams integer[] not null default '{}';
alter table product_variants add column search_grams integer[] not null default '{}';

-- Rows that are there already, as nearly as the database can; each is right from its next write on.
update products
    set search_text = lower(normalize(concat_ws(E'\n', name, sku, external_id), nfkc));
update product_variants set search_text = lower(normalize(sku, nfkc));
update products
    set search_grams = (
        select coalesce(array_agg(distinct
            ascii(substr(search_text, at, 1)) % 1024
            + case when size > 1 then ascii(substr(search_text, at + 1, 1)) % 1024 * 1024 else 0 end
            + case when size > 2 then ascii(substr(search_text, at + 2, 1)) % 1024 * 1048576 else 0 end
        ), '{}')
        from generate_series(1, 3) as size, generate_series(1, char_length(search_text) - size + 1) as at
    );
update product_variants
    set search_grams = (
        select coalesce(array_agg(distinct
            ascii(substr(search_text, at, 1)) % 1024
            + case when size > 1 then ascii(substr(search_text, at + 1, 1)) % 1024 * 1024 else 0 end
            + case when size > 2 then ascii(substr(search_text, at + 2, 1)) % 1024 * 1048576 else 0 end
        ), '{}')
        from generate_series(1, 3) as size, generate_series(1, char_length(search_text) - size + 1) as at
    );

create index products_search_idx on products using gin (search_grams);
create index product_variants_search_idx on product_variants using gin (search_grams) where status <> 'archived';
