//! How large an answer may be.

use std::io;

use serde::Serialize;

use crate::http::error::ApiError;

/// The most bytes of an answer that lists variants.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The beginning of a list, as JSON.
#[derive(Debug)]
pub(crate) struct Fitting {
    /// The records that there is room for.
    pub(crate) body: Vec<u8>,
    /// How many they are.
    pub(crate) count: usize,
    /// Whether these are all of them.
    pub(crate) is_whole: bool,
}

impl Fitting {
    /// The list, if it is whole.
    ///
    /// # Errors
    /// 400 about the parameter that asks for too much, with what to do instead.
    pub(crate) fn whole(self, param: &str, instead: &str) -> Result<Vec<u8>, ApiError> {
        if self.is_whole {
            return Ok(self.body);
        }
        let mebibytes = MAX_BYTES / (1024 * 1024);
        let message =
            format!("{param}: the answer would be larger than {mebibytes} MiB; {instead}");
        Err(ApiError::invalid(param, message))
    }
}

/// As many of the records, from the first, as an answer has room for. What is beyond is not rendered.
///
/// # Errors
/// 500 when a record is no JSON.
pub(crate) fn fitting<T: Serialize>(records: impl Iterator<Item = T>) -> Result<Fitting, ApiError> {
    fitting_behind(b"", records)
}

/// The same, behind what the answer begins with.
///
/// # Errors
/// 500 when a record is no JSON.
pub(crate) fn fitting_behind<T: Serialize>(
    beginning: &[u8],
    records: impl Iterator<Item = T>,
) -> Result<Fitting, ApiError> {
    fitting_within(MAX_BYTES, beginning, records)
}

/// Up to how many records are rendered by the thread that serves.
const FEW: usize = 20;

/// Renders so many records; many of them by a thread beside those that serve, which others wait for.
///
/// # Errors
/// Those of the rendering; 500 when there is no such thread.
pub(crate) async fn aside<T: Send + 'static>(
    records: usize,
    render: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if records <= FEW {
        return render();
    }
    let rendered = actix_web::web::block(render).await;
    rendered.map_err(ApiError::internal)?
}

fn fitting_within<T: Serialize>(
    most: usize,
    beginning: &[u8],
    mut records: impl Iterator<Item = T>,
) -> Result<Fitting, ApiError> {
    let mut list = Fitting {
        body: [beginning, b"["].concat(),
        count: 0,
        is_whole: true,
    };
    while let Some(record) = records.next() {
        let before = list.body.len();
        if list.count > 0 {
            list.body.push(b',');
        }
        serde_json::to_writer(&mut list.body, &record)
            .map_err(|error| ApiError::internal(io::Error::from(error)))?;
        // The bracket is still to come.
        if list.body.len() >= most {
            list.body.truncate(before);
            list.is_whole = false;
            break;
        }
        list.count += 1;
        if list.count == 1 {
            // Records of a list are much alike: room for all at once, instead of copies as it grows.
            let others = list.body.len().saturating_mul(records.size_hint().0);
            list.body.reserve(others.min(most));
        }
    }
    list.body.push(b']');
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_where_there_is_no_more_room() {
        for (most, body, count, is_whole) in [
            (7, "[10,20]", 2, true),
            (6, "[10]", 1, false),
            (4, "[10]", 1, false),
            (3, "[]", 0, false),
        ] {
            let list = fitting_within(most, b"", [10, 20].iter()).unwrap();
            let told = (
                String::from_utf8(list.body).unwrap(),
                list.count,
                list.is_whole,
            );
            assert_eq!(told, (body.to_owned(), count, is_whole), "{most}");
        }
        let empty = fitting_within(2, b"", std::iter::empty::<u8>()).unwrap();
        assert_eq!(
            (empty.body.as_slice(), empty.is_whole),
            (b"[]".as_slice(), true)
        );
        let behind = fitting_within(20, b"{\"of\":", [10, 20].iter()).unwrap();
        assert_eq!(behind.body.as_slice(), b"{\"of\":[10,20]");
    }
}
