//! What the command takes. That it is there for the checks to run is because of this test: cargo builds a program
//! for the tests beside it.

use std::process::Command;

#[test]
fn rows_that_there_are_none_of_are_refused_with_those_that_there_are() {
    for (arguments, status, word) in [
        (&["--only", "tea"][..], Some(2), "overload"),
        (&["--shortly"], Some(2), "--short"),
        (&["--help"], Some(0), "--markdown"),
    ] {
        let siege = Command::new(env!("CARGO_BIN_EXE_lessor-siege"))
            .args(arguments)
            .output();
        let said = siege
            .as_ref()
            .map(|said| [&said.stdout[..], &said.stderr].concat());
        let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
        assert_eq!(
            siege.ok().and_then(|siege| siege.status.code()),
            status,
            "{said}"
        );
        assert!(said.contains(word), "{said}");
    }
}
