drop table simulated_refunds;
drop table simulated_payment_intents;
drop table simulated_payment_methods;
drop table simulated_customers;
drop table simulated_products;
drop table simulated_attempts;
drop table simulated_calls;
