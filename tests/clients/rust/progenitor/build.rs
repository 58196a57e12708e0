//! Makes the client of the document whose OpenAPI 3.0 form `LESSOR_OPENAPI_3_0` names.

use std::error::Error;
use std::fs::{File, write};
use std::path::Path;

use progenitor::{GenerationSettings, Generator, InterfaceStyle};

const DOCUMENT: &str = "LESSOR_OPENAPI_3_0";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={DOCUMENT}");
    let document = std::env::var(DOCUMENT)?;
    println!("cargo::rerun-if-changed={document}");
    let document: openapiv3::OpenAPI = serde_json::from_reader(File::open(document)?)?;
    let mut settings = GenerationSettings::new();
    settings.with_interface(InterfaceStyle::Builder);
    let tokens = Generator::new(&settings).generate_tokens(&document)?;
    let text = prettyplease::unparse(&syn::parse2(tokens)?);
    write(
        Path::new(&std::env::var("OUT_DIR")?).join("client.rs"),
        text,
    )?;
    Ok(())
}
