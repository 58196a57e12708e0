//! Bodies of answers, handed out in slices.
//!
//! actix copies what a body hands out before it writes that. A body that hands out all of itself at once is
//! copied whole for each client that does not read, also where it is one text that all answers share.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;

use crate::http::budget::{MemoryBudget, Share};

/// The largest slice, in bytes. No more is handed out while as much waits to be written.
pub(crate) const SLICE: usize = 16 * 1024;

/// The same body, in slices where it is larger than one; none where the budget has no room for it. What
/// others hold as well takes nothing of the budget. Without a budget it has one of its own.
pub(crate) fn sliced(body: BoxBody, budget: Option<&MemoryBudget>) -> Option<BoxBody> {
    let size = body.size();
    match size {
        BodySize::None => return Some(body),
        BodySize::Sized(length) if usize::try_from(length).is_ok_and(|it| it <= SLICE) => {
            return Some(body);
        }
        BodySize::Sized(_) | BodySize::Stream => {}
    }
    let (body, rest) = match body.try_into_bytes() {
        Ok(bytes) => (BoxBody::new(()), bytes),
        Err(body) => (body, Bytes::new()),
    };
    let mut share = budget.map_or_else(|| MemoryBudget::default().share(), MemoryBudget::share);
    let own = if rest.is_unique() { rest.len() } else { 0 };
    share.hold(own).then(|| {
        BoxBody::new(Sliced {
            size,
            rest,
            body,
            _share: share,
        })
    })
}

struct Sliced {
    size: BodySize,
    /// What is there, and was not handed out.
    rest: Bytes,
    /// What is still to come.
    body: BoxBody,
    _share: Share,
}

impl MessageBody for Sliced {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(bytes)) => self.rest = bytes,
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(SLICE);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// What the body hands out, piece by piece.
    fn handed_out(mut body: BoxBody) -> Vec<Bytes> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut pieces = Vec::new();
        while let Poll::Ready(Some(piece)) = Pin::new(&mut body).poll_next(&mut cx) {
            pieces.push(piece.unwrap());
        }
        pieces
    }

    #[test]
    fn a_large_body_is_handed_out_in_slices_and_copied_by_none() {
        let text = Bytes::from(vec![b'x'; 3 * SLICE + 1]);
        let body = sliced(BoxBody::new(text.clone()), Some(&MemoryBudget::default())).unwrap();
        let length = u64::try_from(text.len()).unwrap();
        assert_eq!(body.size(), BodySize::Sized(length));
        let pieces = handed_out(body);
        let lengths: Vec<usize> = pieces.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [SLICE, SLICE, SLICE, 1]);
        for (piece, shared) in pieces.iter().zip(text.chunks(SLICE)) {
            assert_eq!(piece.as_ptr(), shared.as_ptr());
        }
    }

    #[test]
    fn other_bodies_are_as_they_were() {
        let budget = MemoryBudget::new(0);
        for length in [0, 1, SLICE] {
            let body = sliced(BoxBody::new(vec![b'x'; length]), Some(&budget)).unwrap();
            let pieces = handed_out(body);
            let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
            assert_eq!(whole, vec![b'x'; length]);
            assert!(pieces.len() < 2);
        }
        let none = BoxBody::new(actix_web::body::None::new());
        let none = sliced(none, Some(&budget)).unwrap();
        assert_eq!(none.size(), BodySize::None);
    }

    #[test]
    fn what_is_an_answers_own_takes_of_the_budget_until_it_is_gone() {
        let budget = MemoryBudget::new(10 * SLICE);
        let own = || sliced(BoxBody::new(vec![b'x'; 6 * SLICE]), Some(&budget));
        let first = own().unwrap();
        assert!(own().is_none());
        drop(first);
        let _second = own().unwrap();
        let text = Bytes::from(vec![b'x'; 6 * SLICE]);
        let of_all: Vec<_> = (0..10)
            .map(|_| sliced(BoxBody::new(text.clone()), Some(&budget)))
            .collect();
        assert!(of_all.iter().all(Option::is_some));
        let fixed = sliced(
            BoxBody::new(Bytes::from_static(&[b'x'; 6 * SLICE])),
            Some(&budget),
        );
        assert!(fixed.is_some());
    }
}
