//! Leases as a library.
