drop table checkout_invoices;
