drop table simulated_invoices;
drop table simulated_subscriptions;
