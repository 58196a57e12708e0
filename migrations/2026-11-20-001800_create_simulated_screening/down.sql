drop table simulated_documents;
drop table simulated_identity_sessions;
