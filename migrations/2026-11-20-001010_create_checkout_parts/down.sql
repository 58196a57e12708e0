drop trigger checkouts_fit_their_parts on checkouts;
drop function require_fitting_parts();
drop table checkout_returns;
drop table checkout_shipments;
drop sequence checkout_tracking_turns;
drop table checkout_billing;
drop table checkout_deposits;
drop table checkout_waits;
drop table checkout_applications;
