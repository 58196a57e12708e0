//! Request parameters as form-encoded nested keys: `items[0][price]=price_1`.

use form_urlencoded::Serializer;
use serde::Serialize;
use serde_json::Value;

/// The parameters cannot be written as a form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FormError {
    /// Parameters are members of an object.
    #[error("parameters have to be an object")]
    NotAnObject,
    /// Amounts are whole minor units, and nothing else is a fraction either.
    #[error("{0} is not a whole number")]
    Fraction(String),
    /// The value could not be serialized.
    #[error("{0}")]
    Unserializable(String),
}

/// Writes the parameters as `application/x-www-form-urlencoded`, names in
/// alphabetical order, so that equal parameters are equal bytes.
///
/// `()` stands for no parameters. Members without a value are left out; an empty text is kept, which is how the
/// processor is told to clear something.
///
/// # Errors
/// [`FormError`] when the value is none that a form can hold.
pub(super) fn encode<P: Serialize + ?Sized>(params: &P) -> Result<String, FormError> {
    let value = serde_json::to_value(params)
        .map_err(|error| FormError::Unserializable(error.to_string()))?;
    let members = match value {
        Value::Object(members) => members,
        Value::Null => return Ok(String::new()),
        _ => return Err(FormError::NotAnObject),
    };
    let mut form = Serializer::new(String::new());
    for (name, value) in &members {
        append(&mut form, name, value)?;
    }
    Ok(form.finish())
}

fn append(form: &mut Serializer<'_, String>, name: &str, value: &Value) -> Result<(), FormError> {
    match value {
        Value::Null => {}
        Value::Bool(flag) => {
            form.append_pair(name, if *flag { "true" } else { "false" });
        }
        Value::Number(number) if number.is_f64() => {
            return Err(FormError::Fraction(name.to_owned()));
        }
        Value::Number(number) => {
            form.append_pair(name, &number.to_string());
        }
        Value::String(text) => {
            form.append_pair(name, text);
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                append(form, &format!("{name}[{index}]"), item)?;
            }
        }
        Value::Object(members) => {
            for (member, value) in members {
                append(form, &format!("{name}[{member}]"), value)?;
            }
        }
    }
    Ok(())
}
