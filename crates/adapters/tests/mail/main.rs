//! Mails given to a real mail server.
