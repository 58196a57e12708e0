//! The way of a checkout's goods.

use lessor_domain::services::shipments::TrackingView;
use lessor_domain::shipments::TrackingEvent;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::wire::{Carrier, DateTimeText, TrackingNumber, TrackingStatus};

/// Where the goods can be followed.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SetTracking)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetTrackingBody {
    /// The carrier's number of the shipment; spaces and hyphens are dropped.
    pub(super) tracking_number: TrackingNumber,
    /// Left out, it is told from the number, or stays the one before.
    pub(super) carrier: Option<Carrier>,
}

/// Where the goods of a checkout are.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tracking)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrackingRecord {
    /// The carrier's number of the shipment.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_number: Option<String>,
    /// Who carries them.
    #[serde(skip_serializing_if = "Option::is_none")]
    carrier: Option<Carrier>,
    /// Where the shipment is.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<TrackingStatus>,
    /// The status for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_description: Option<&'static str>,
    /// Where the carrier saw them last.
    #[serde(skip_serializing_if = "Option::is_none")]
    current_location: Option<String>,
    /// When the carrier expects to deliver.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_delivery: Option<DateTimeText>,
    /// When they were shipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipped_at: Option<DateTimeText>,
    /// When they were delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<DateTimeText>,
    /// Who signed for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    /// What was reported, oldest first.
    events: Vec<TrackingEventRecord>,
}

/// What a carrier reported.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TrackingEvent)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrackingEventRecord {
    /// When it happened.
    timestamp: DateTimeText,
    /// Where the shipment is since then.
    status: TrackingStatus,
    /// What happened, for people.
    description: String,
    /// Where it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
}

impl TrackingRecord {
    pub(crate) fn new(view: &TrackingView) -> Self {
        let shipment = &view.checkout.shipment;
        let newest_first = || view.events.iter().rev().map(|event| &event.reported);
        Self {
            tracking_number: shipment
                .tracking
                .as_ref()
                .map(|tracking| tracking.number.to_string()),
            carrier: shipment
                .tracking
                .as_ref()
                .map(|tracking| tracking.carrier.into()),
            status: shipment.status.map(Into::into),
            status_description: shipment
                .status
                .map(lessor_domain::shipments::TrackingStatus::description),
            current_location: newest_first()
                .find_map(|reported| reported.location.as_ref())
                .map(ToString::to_string),
            estimated_delivery: newest_first()
                .find_map(|reported| reported.estimated_delivery)
                .filter(|_| shipment.delivered_at.is_none())
                .map(Into::into),
            shipped_at: shipment.shipped_at.map(Into::into),
            delivered_at: shipment.delivered_at.map(Into::into),
            signed_by: shipment.signed_by.as_ref().map(ToString::to_string),
            events: view.events.iter().map(Into::into).collect(),
        }
    }
}

impl From<&TrackingEvent> for TrackingEventRecord {
    fn from(event: &TrackingEvent) -> Self {
        let reported = &event.reported;
        Self {
            timestamp: reported.at.into(),
            status: reported.status.into(),
            description: reported.description.as_ref().map_or_else(
                || reported.status.description().to_owned(),
                ToString::to_string,
            ),
            location: reported.location.as_ref().map(ToString::to_string),
        }
    }
}
