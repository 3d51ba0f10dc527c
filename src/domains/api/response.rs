//! Response types of domains.

use salvo::oapi::ToSchema;
use serde::{Deserialize, Serialize};

use crate::base::clock::to_iso;
use crate::base::id::DomainId;
use crate::dns::DnsMatch;
use crate::domains::model::{Domain, DomainStatus, DomainWithRecords, RecordStatus};
use crate::domains::records::RecordView;
use crate::http::schema::words_schema;

words_schema!(DomainStatusWord = DomainStatus::ALL.map(DomainStatus::as_str));
words_schema!(RecordStatusWord = RecordStatus::ALL.map(RecordStatus::as_str));
words_schema!(LiveWord = DnsMatch::ALL.map(DnsMatch::as_str));
words_schema!(PurposeWord = ["SPF", "DKIM", "Tracking", "DMARC"]);
words_schema!(DnsTypeWord = ["TXT", "MX", "CNAME"]);

/// A domain without its records.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "Domain"))]
pub struct DomainResponse {
    /// Always `domain`.
    pub object: String,
    /// Id of the domain.
    #[salvo(schema(value_type = String))]
    pub id: DomainId,
    /// Name of the domain.
    pub name: String,
    /// `not_started`, `pending`, `verified` or `failed`. Only a verified domain can be used as a sender.
    #[salvo(schema(value_type = DomainStatusWord))]
    pub status: String,
    /// Time of creation.
    pub created_at: String,
    /// Region given at creation.
    pub region: String,
    /// Whether opens are recorded.
    pub open_tracking: bool,
    /// Whether clicks are recorded.
    pub click_tracking: bool,
    /// Label of the subdomain in tracked links.
    pub tracking_subdomain: Option<String>,
    /// Capabilities of the domain.
    pub capabilities: CapabilitiesResponse,
}

/// Capabilities of a domain.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "DomainCapabilities"))]
pub struct CapabilitiesResponse {
    /// Always `enabled`.
    pub sending: String,
    /// Always `disabled`.
    pub receiving: String,
}

impl From<Domain> for DomainResponse {
    fn from(domain: Domain) -> Self {
        let Domain {
            id,
            name,
            status,
            created_ms,
            region,
            open_tracking,
            click_tracking,
            tracking_subdomain,
            refusal: _,
        } = domain;
        Self {
            object: "domain".to_owned(),
            id,
            name,
            status: status.as_str().to_owned(),
            created_at: to_iso(created_ms),
            region,
            open_tracking,
            click_tracking,
            tracking_subdomain,
            capabilities: CapabilitiesResponse { sending: "enabled".to_owned(), receiving: "disabled".to_owned() },
        }
    }
}

/// A domain with the records to publish.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "DomainWithRecords"))]
pub struct DomainWithRecordsResponse {
    #[serde(flatten)]
    pub domain: DomainResponse,
    /// Records for sending, signing and tracking. The status `verified` requires the two records of the return path
    /// (`SPF`) and the RSA key (the first `DKIM`).
    pub records: Vec<RecordResponse>,
    /// Recommended records that are not required: the DMARC policy.
    pub recommended_records: Vec<RecordResponse>,
}

impl From<DomainWithRecords> for DomainWithRecordsResponse {
    fn from(domain: DomainWithRecords) -> Self {
        let DomainWithRecords { domain, records, recommended, checked_ms: _ } = domain;
        Self {
            domain: domain.into(),
            records: records.into_iter().map(RecordResponse::from).collect(),
            recommended_records: recommended.into_iter().map(RecordResponse::from).collect(),
        }
    }
}

/// A DNS record with the result of the last check.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[salvo(schema(name = "DomainRecord"))]
pub struct RecordResponse {
    /// Purpose: `SPF`, `DKIM`, `Tracking` or `DMARC`.
    #[salvo(schema(value_type = PurposeWord))]
    pub record: String,
    /// Name relative to the registrable domain.
    pub name: String,
    /// `TXT`, `MX` or `CNAME`.
    #[serde(rename = "type")]
    #[salvo(schema(value_type = DnsTypeWord))]
    pub dns_type: String,
    /// Always `Auto`: any TTL is accepted.
    pub ttl: String,
    /// `not_started`, `pending`, `verified`, `failed` or `temporary_failure`.
    #[salvo(schema(value_type = RecordStatusWord))]
    pub status: String,
    /// Value of the record.
    pub value: String,
    /// Preference of an MX record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
    /// Result of the last lookup: `found`, `missing`, `mismatch` or `unknown`. Before the first check, `unknown`.
    #[salvo(schema(value_type = LiveWord))]
    pub live: String,
    /// One line with the complete name of the record and the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Parent domain that publishes the DMARC policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<String>,
    /// DMARC policy that applies to the domain: `none`, `quarantine` or `reject`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

impl From<RecordView> for RecordResponse {
    fn from(view: RecordView) -> Self {
        let RecordView {
            record,
            name,
            dns_type,
            value,
            priority,
            status,
            live,
            detail,
            seen: _,
            inherited_from,
            policy,
        } = view;
        Self {
            record: record.to_owned(),
            name,
            dns_type: dns_type.to_owned(),
            ttl: "Auto".to_owned(),
            status: status.as_str().to_owned(),
            value,
            priority,
            live: live.unwrap_or(DnsMatch::Unknown).as_str().to_owned(),
            detail: detail.filter(|_| status != RecordStatus::Verified),
            inherited_from,
            policy,
        }
    }
}

/// A domain that was changed.
#[derive(Serialize, ToSchema)]
pub(super) struct DomainReference {
    /// Always `domain`.
    object: &'static str,
    /// Id of the domain.
    id: String,
}

impl DomainReference {
    pub(super) fn of(id: DomainId) -> Self {
        Self { object: "domain", id: id.to_string() }
    }
}

/// A domain that was deleted.
#[derive(Serialize, ToSchema)]
pub(super) struct DeletedDomain {
    /// Always `domain`.
    object: &'static str,
    /// Id of the domain.
    id: String,
    /// Always true.
    deleted: bool,
}

impl DeletedDomain {
    pub(super) fn of(id: DomainId) -> Self {
        Self { object: "domain", id: id.to_string(), deleted: true }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domains::model::{RecordKind, RecordState};
    use crate::domains::records;
    use crate::domains::store::DomainRow;
    use crate::domains::testing::{row, settings};

    #[test]
    fn a_domain_has_the_json_form_of_the_compatible_api() {
        let state = |kind, status, live| RecordState { live: Some(live), ..RecordState::unchecked(kind, status) };
        let row = DomainRow {
            records: vec![
                RecordState {
                    detail: Some("one line".into()),
                    ..state(RecordKind::ReturnPathMx, RecordStatus::Failed, DnsMatch::Mismatch)
                },
                state(RecordKind::DkimRsa, RecordStatus::Verified, DnsMatch::Found),
                RecordState {
                    policy: Some("none".into()),
                    inherited_from: Some("example.org".into()),
                    ..state(RecordKind::Dmarc, RecordStatus::Verified, DnsMatch::Found)
                },
            ],
            ..row("mail.example.org")
        };
        let view = |record| records::view(record, &row);
        let domain = DomainWithRecords {
            domain: Domain {
                id: DomainId::from_bytes([1; 16]),
                name: row.name.clone(),
                status: DomainStatus::Failed,
                created_ms: 1_767_604_353_456,
                region: "us-east-1".into(),
                open_tracking: false,
                click_tracking: false,
                tracking_subdomain: None,
                refusal: None,
            },
            records: records::expected(&row, &settings()).into_iter().map(view).collect(),
            recommended: vec![view(records::recommended_dmarc(&row))],
            checked_ms: None,
        };

        let json = serde_json::to_value(DomainWithRecordsResponse::from(domain)).unwrap();

        let key = |name, value| json!({"record": "DKIM", "name": name, "type": "TXT", "ttl": "Auto", "value": value});
        let not_looked_up =
            |name: &str| format!("{name}.example.org: not looked up yet; publish the record, then verify the domain");
        let with = |mut record: serde_json::Value, more: serde_json::Value| {
            record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            record
        };
        assert_eq!(
            json,
            json!({
                "object": "domain",
                "id": "01010101-0101-0101-0101-010101010101",
                "name": "mail.example.org",
                "status": "failed",
                "created_at": "2026-01-05T09:12:33.456Z",
                "region": "us-east-1",
                "open_tracking": false,
                "click_tracking": false,
                "tracking_subdomain": null,
                "capabilities": {"sending": "enabled", "receiving": "disabled"},
                "records": [
                    {
                        "record": "SPF", "name": "send.mail", "type": "MX", "ttl": "Auto", "status": "failed",
                        "value": "mx.ringmail.example", "priority": 10, "live": "mismatch", "detail": "one line",
                    },
                    {
                        "record": "SPF", "name": "send.mail", "type": "TXT", "ttl": "Auto", "status": "not_started",
                        "value": "v=spf1 a:mx.ringmail.example ~all", "live": "unknown",
                        "detail": not_looked_up("send.mail"),
                    },
                    with(
                        key("one-rsa._domainkey.mail", "v=DKIM1; k=rsa; p=AAAA"),
                        json!({"status": "verified", "live": "found"}),
                    ),
                    with(
                        key("one-ed._domainkey.mail", "v=DKIM1; k=ed25519; p=BBBB"),
                        json!({
                            "status": "not_started", "live": "unknown",
                            "detail": not_looked_up("one-ed._domainkey.mail"),
                        }),
                    ),
                ],
                "recommended_records": [{
                    "record": "DMARC", "name": "_dmarc.mail", "type": "TXT", "ttl": "Auto", "status": "verified",
                    "value": "v=DMARC1; p=none;", "live": "found", "policy": "none", "inherited_from": "example.org",
                }],
            })
        );
    }
}
