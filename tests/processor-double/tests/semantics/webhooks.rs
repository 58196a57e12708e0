//! Messages: each event, signed, repeated, in another order, until it is taken.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use lessor_processor_double::{SIGNATURE_HEADER, Webhooks, deliver, shuffle, sign};
use tokio::net::TcpListener;

use crate::support::{Caller, until};

/// The messages that came, as header and body, and how many of them are refused first.
#[derive(Default)]
pub(crate) struct Inbox {
    messages: Vec<(String, Vec<u8>)>,
    refused: usize,
}

pub(crate) async fn receiver(refused: usize) -> (String, Arc<Mutex<Inbox>>) {
    let inbox = Arc::new(Mutex::new(Inbox {
        refused,
        ..Inbox::default()
    }));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let kept = Arc::clone(&inbox);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            let service = service_fn(move |request: Request<Incoming>| {
                let kept = Arc::clone(&kept);
                async move {
                    let header = request.headers()[SIGNATURE_HEADER]
                        .to_str()
                        .expect("text")
                        .to_owned();
                    let body = request
                        .into_body()
                        .collect()
                        .await
                        .expect("a body")
                        .to_bytes();
                    let mut inbox = kept.lock().expect("the inbox");
                    inbox.messages.push((header, body.to_vec()));
                    let mut response = Response::new(Full::new(Bytes::new()));
                    if inbox.refused > 0 {
                        inbox.refused -= 1;
                        *response.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
                    }
                    Ok::<_, Infallible>(response)
                }
            });
            let serving = hyper::server::conn::http1::Builder::new();
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
        }
    });
    (url, inbox)
}

pub(crate) fn bodies(inbox: &Mutex<Inbox>) -> Vec<Vec<u8>> {
    let inbox = inbox.lock().expect("the inbox");
    inbox
        .messages
        .iter()
        .map(|(_, body)| body.clone())
        .collect()
}

#[tokio::test]
async fn each_event_is_sent_signed_and_so_often() {
    let caller = Caller::new();
    let (url, inbox) = receiver(0).await;
    caller.double.send_to(Webhooks {
        copies: 3,
        secrets: vec!["whsec_old".to_owned(), "whsec_new".to_owned()],
        double_time: true,
        ..Webhooks::to(&url, "")
    });
    caller.post("/v1/customers", "name=A").await;
    until("three copies came", || bodies(&inbox).len() == 3).await;
    let event = &caller.double.events()[0];
    let expected = sign(
        &event.body,
        &["whsec_old", "whsec_new"],
        caller.double.now().timestamp(),
    );
    for (header, body) in &inbox.lock().expect("the inbox").messages {
        assert_eq!(*body, event.body);
        assert_eq!(*header, expected);
    }
}

#[tokio::test]
async fn a_message_that_is_not_taken_comes_again() {
    let caller = Caller::new();
    let (url, inbox) = receiver(2).await;
    caller.double.send_to(Webhooks {
        retry_millis: 1,
        ..Webhooks::to(&url, "whsec_1")
    });
    caller.post("/v1/customers", "name=A").await;
    until("it was taken", || {
        let sent = caller.double.deliveries();
        sent.iter().any(|delivery| delivery.status == Some(200))
    })
    .await;
    let bodies = bodies(&inbox);
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn events_come_in_another_order_when_they_are_to() {
    let caller = Caller::new();
    let (url, inbox) = receiver(0).await;
    caller.double.send_to(Webhooks {
        delay_millis: 150,
        shuffle: Some(7),
        ..Webhooks::to(&url, "whsec_1")
    });
    caller.customer().await;
    let made = caller.double.events();
    until("all came", || bodies(&inbox).len() == made.len()).await;
    let (came, mut sorted) = (bodies(&inbox), bodies(&inbox));
    let mut expected: Vec<_> = made.into_iter().map(|event| event.body).collect();
    assert_ne!(came, expected);
    sorted.sort();
    expected.sort();
    assert_eq!(sorted, expected);
}

#[tokio::test]
async fn a_test_delivers_by_itself() {
    let caller = Caller::new();
    let (url, inbox) = receiver(0).await;
    caller.customer().await;
    let mut events = caller.double.events();
    shuffle(&mut events, 3);
    let statuses = deliver(&url, &["whsec_1"], 1_700_000_000, &events, 2).await;
    let statuses = statuses.expect("answers");
    assert_eq!(statuses.len(), 2 * events.len());
    assert!(statuses.iter().all(|status| *status == 200));
    let expected: Vec<_> = events
        .iter()
        .flat_map(|event| [event.body.clone(), event.body.clone()])
        .collect();
    assert_eq!(bodies(&inbox), expected);
}
