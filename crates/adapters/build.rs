//! The migrations are embedded by a macro, which Cargo does not see reading them.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
