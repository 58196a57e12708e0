drop table lifecycle_states;
