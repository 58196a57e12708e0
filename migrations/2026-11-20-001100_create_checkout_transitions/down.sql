drop table checkout_transitions;
drop function refuse_to_rewrite_history();
