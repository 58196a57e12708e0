-- What was bought along is not deleted from the catalog: who deletes looks here.
create index checkout_applications_purchases_idx
    on checkout_applications using gin (purchase_items jsonb_path_ops) where purchase_items <> '[]';
