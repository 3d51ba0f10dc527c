// Types of the API. Made by generate.mjs from `ringmail openapi`; do not edit.

export type AcceptedBroadcast = {
  /** Always true. */
  estimated: true;
  /** Estimated time of the last email; null for a draft, and for a broadcast without recipients. */
  finishes_at: string | null;
  /** The id. */
  id: string;
  /** Always `broadcast`. */
  object: "broadcast";
  /** Reason why the broadcast is not sent at once; absent if it is. */
  warning?: BroadcastWarning | null;
};

export type AddSuppressionsRequest = {
  /** The addresses, 1 to 1000. Display names are ignored. */
  emails: string[];
  /** The origin; `manual` by default. */
  origin?: "bounce" | "complaint" | "manual" | "unsubscribe" | null;
};

export type AddedSuppressions = {
  /** One entry for each distinct address, in the order of their first occurrence. */
  data: SuppressionReference[];
};

export type ApiKeyReference = {
  /** The id. */
  id: string;
  /** Always `api_key`. */
  object: "api_key";
};

export type ApiKeyResponse = {
  /** The time of creation. */
  created_at: string;
  /** The id. */
  id: string;
  /** The time of the last use, to the minute. */
  last_used_at: string | null;
  /** The name. */
  name: string;
};

export type AttachmentRequest = {
  /** The file: base64 text, an array of bytes, or a serialized Node.js `Buffer`. */
  content: string | number[] | {
    data: number[];
    type: "Buffer";
  };
  /** The media type. If absent, it is derived from the extension of the file name. */
  content_type?: string | null;
  /** The file name. If absent, it is derived from the content type. */
  filename?: string | false | null;
};

export type AttachmentResponse = {
  /** The content in base64. Only in the response for one attachment. */
  content?: string | null;
  /** `inline` for an inline image, otherwise `attachment`. */
  content_disposition: string;
  /** The content id of an inline image. */
  content_id?: string | null;
  /** The media type. */
  content_type: string;
  /** Always null. */
  download_url: null;
  /** Always null. */
  expires_at: null;
  /** The file name. */
  filename: string;
  /** The id. */
  id: string;
  /** Always `attachment`. */
  object: "attachment";
  /** The size in bytes. */
  size: number;
};

export type AttachmentSummary = {
  /** The media type. */
  content_type: string;
  /** The file name. */
  filename: string;
  /** The id. */
  id: string;
  /** The size in bytes. */
  size: number;
};

export type AttemptTls = {
  /** The cipher suite. */
  cipher: string;
  /** Whether the certificate was verified. */
  verified: boolean;
  /** `TLSv1.2` or `TLSv1.3`. */
  version: string;
};

export type BatchCounts = {
  /** Contacts created. */
  created: number;
  /** Items that failed. */
  failed: number;
  /** Items skipped. */
  skipped: number;
  /** Items merged into a contact. */
  updated: number;
};

export type BatchGetRequest = {
  /** 1 to 1,000 contacts, each given by its id or address. */
  contacts: ContactReference[];
  /** `properties`, `topics` or both. */
  include?: ("properties" | "topics")[] | null;
};

export type BatchGetResponse = {
  /** The contacts found, in the order of the request. */
  data: Contact[];
  /** The ids and addresses that match no contact. */
  missing: MissingContact[];
  /** Always `list`. */
  object: "list";
};

export type BatchItemResponse = {
  /** The id of the contact. */
  id: string;
  /** The index in the request, from 0. */
  index: number;
  /** Always `contact`. */
  object: "contact";
  /** `created`, `updated` or `skipped`. */
  status: "created" | "updated" | "skipped";
};

export type BatchRemoveRequest = unknown;

export type BatchRemoveResponse = {
  /** The contacts that existed. */
  data: RemovedContactResponse[];
};

export type BatchResponse = {
  /** Numbers of items by outcome. Their sum is the number of items in the request. */
  counts: BatchCounts;
  /** The items that did not fail, in the order of the request. */
  data: BatchItemResponse[];
  /** The items that failed. Always empty without `x-batch-validation: permissive`. */
  errors: ContactBatchItemError[];
};

export type BounceResponse = {
  /** The reply of the recipient's server. */
  diagnosticCode: string[];
  /** A readable description. */
  message: string;
  /** The subtype, such as `General`, `NoEmail` or `MailboxFull`. */
  subType: string;
  /** `Permanent`, `Transient` or `Undetermined`. */
  type: string;
};

export type Broadcast = BroadcastSummary & {
  /** Estimated time of the last email, which is calculated for each response; null for a broadcast that is neither scheduled nor queued. */
  finishes_at: string | null;
  /** The sender. */
  from: string;
  /** The HTML part, with merge fields. */
  html: string | null;
  /** Always `broadcast`. */
  object: "broadcast";
  /** The text that mail clients show beside the subject. */
  preview_text: string | null;
  /** The addresses for replies; null without one. */
  reply_to: string[] | null;
  /** Number of emails whose delivery has started. */
  sent_count: number;
  /** The subject, with merge fields. */
  subject: string;
  /** The text part, with merge fields. */
  text: string | null;
};

export type BroadcastRecipientResponse = {
  /** The type of the bounce, in a list of bounces. */
  bounce_type?: "permanent" | "transient" | "undetermined" | null;
  /** The first 10 links that the recipient clicked, in a list of `clicked`. */
  clicked_links?: RecipientClickedLink[] | null;
  /** The contact; null after its deletion. */
  contact_id: string | null;
  /** Number of stored opens or clicks, at least 1, in a list of `opened` or `clicked`. */
  count?: number | null;
  /** The address. */
  email: string;
  /** The id of the email. */
  id: string;
};

export type BroadcastReference = {
  /** The id. */
  id: string;
  /** Always `broadcast`. */
  object: "broadcast";
};

export type BroadcastSummary = {
  /** The segment, or the team for a broadcast to all contacts. */
  audience_id: string;
  /** Time of creation. */
  created_at: string;
  /** The id. */
  id: string;
  /** The name, or the subject of a broadcast without one. */
  name: string;
  /** The requested start; null for a draft, and for a broadcast that was sent at once. */
  scheduled_at: string | null;
  /** The segment; null for all contacts. */
  segment_id: string | null;
  /** Time at which the last recipient was attempted; null before. */
  sent_at: string | null;
  /** The status. `queued`: it is being sent. */
  status: "draft" | "scheduled" | "queued" | "sent" | "canceled" | "failed";
  /** The topic; null for every subscribed contact. */
  topic_id: string | null;
};

export type BroadcastWarning = {
  /** `paced`: the broadcast alone exceeds the sending limits. `queued_behind`: other broadcasts are sent first. */
  code: "paced" | "queued_behind";
  /** Days from the start to the last email, rounded up. */
  days: number;
  /** The reason as a sentence. */
  message: string;
};

export type CanceledBroadcast = {
  /** Number of emails that are not sent. */
  canceled_remaining: number;
  /** The id. */
  id: string;
  /** Always `broadcast`. */
  object: "broadcast";
};

export type CapabilitiesRequest = {
  /** Only `disabled` is accepted. */
  receiving?: "disabled" | null;
  /** Only `enabled` is accepted. */
  sending?: "enabled" | null;
};

export type CapturedAttachment = {
  /** The content id of an inline image. */
  content_id: string | null;
  /** The media type. */
  content_type: string;
  /** The file name. */
  filename: string;
  /** The position in the message, from 0. */
  index: number;
  /** The size in bytes. */
  size: number;
};

export type CapturedEmail = {
  /** The email that the message was composed from; null for a message of another program. */
  email_id: string | null;
  /** The sender in the header, or else the return path. */
  from: string;
  /** The id. */
  id: string;
  /** `captured`; `released` after the message was released for delivery; `other` for a message of another program. */
  mode: string;
  /** Always `captured`. */
  object: "captured";
  /** The time of arrival. */
  received_at: string;
  /** The time of the release for delivery; null if the message was not released. */
  released_at: string | null;
  /** The size in bytes. */
  size: number;
  /** The subject. */
  subject: string;
  /** The recipients of the envelope. */
  to: string[];
};

export type CapturedHeader = {
  /** The name. */
  name: string;
  /** The value in one line. */
  value: string;
};

export type CapturedList = {
  /** The messages, newest first. */
  data: CapturedEmail[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
  /** The position from which `after` continues, if the page ended early, because it read many other messages. */
  position: string | null;
};

export type CapturedMessage = CapturedEmail & {
  /** The attached files and inline images, without their content. */
  attachments: CapturedAttachment[];
  /** The first code of four to eight digits. */
  code: string | null;
  /** The header fields in the order of the message. */
  headers: CapturedHeader[];
  /** The HTML part. */
  html: string | null;
  /** The links to web pages, in order, each once. */
  links: string[];
  /** The text part, or else the text of the HTML part. */
  text: string | null;
};

export type ChangedTemplate = {
  /** The id. */
  id: string;
  /** Always `template`. */
  object: "template";
};

export type ClickResponse = {
  /** The IP address of the client. */
  ipAddress: string;
  /** The URL of the link. */
  link: string;
  /** For a click by software, the reason of this classification. */
  reason?: string | null;
  /** The time. */
  timestamp: string;
  /** The user agent of the client. */
  userAgent: string;
};

export type ClickedLink = {
  /** Number of clicks. */
  clicks: number;
  /** An id for the cursors of this list. */
  id: string;
  /** Number of recipients who clicked. */
  unique_clicks: number;
  /** The URL, with the merge fields of the content. */
  url: string;
};

export type ConditionRequest = unknown;

export type ConditionResponse = {
  /** The field. */
  field: string;
  /** The operator. */
  op: string;
  /** The value to compare with. */
  value?: string | null;
};

export type Contact = {
  /** The creation time. */
  created_at: string;
  /** The address. */
  email: string;
  /** The first name. */
  first_name: string | null;
  /** The id. */
  id: string;
  /** The last name. */
  last_name: string | null;
  /** Always `contact`. */
  object: "contact";
  /** The properties. Lists contain them only with `include=properties`. */
  properties?: Record<string, {
    type: "string";
    value: string;
  } | {
    type: "number";
    value: number;
  }> | null;
  /** The subscriptions to every topic. Present only with `include=topics`. */
  topics?: TopicSubscription[] | null;
  /** Whether the contact opted out of all marketing email. */
  unsubscribed: boolean;
};

export type ContactBatchItemError = {
  /** The index in the request, from 0. */
  index: number;
  /** The error. */
  message: string;
};

export type ContactEvent = {
  /** The time of the event. */
  created_at: string;
  /** The contact. */
  data: ContactEventData;
  /** The type of the event. */
  type: string;
};

export type ContactEventData = {
  /** The first segment of the contact, or the team. */
  audience_id: string;
  /** The time of creation. */
  created_at: string;
  /** The address; `[erased]` after an erasure. */
  email: string;
  /** The first name. */
  first_name: string | null;
  /** The id of the contact. */
  id: string;
  /** The last name. */
  last_name: string | null;
  /** Segments of which the contact is a member. */
  segment_ids: string[];
  /** `api`, `dashboard`, `hosted_page` or `one_click`. */
  source: string;
  /** Of a topic event: the id of the topic. */
  topic_id?: string;
  /** Of a topic event: the name of the topic. */
  topic_name?: string;
  /** Whether the contact opted out of all marketing email. */
  unsubscribed: boolean;
  /** The time of the last change. */
  updated_at: string;
};

export type ContactProperty = {
  /** Time of creation. */
  created_at: string;
  /** The value of a contact without one; a number is returned as text. */
  fallback_value: string | null;
  /** The id. */
  id: string;
  /** The key in the given letter case. */
  key: string;
  /** Always `contact_property`. */
  object: "contact_property";
  /** The type of the values: `string` or `number`. */
  type: "string" | "number";
};

export type ContactReference = unknown;

export type ContactSegmentResponse = {
  /** The id of the segment, under its deprecated name. */
  audienceId: string;
  /** The id of the contact. */
  contact_id: string;
  /** True if the contact left the segment. */
  deleted?: boolean | null;
  /** The id of the segment. */
  id: string;
  /** Always `contact_segment`. */
  object: "contact_segment";
  /** The id of the segment. */
  segment_id: string;
};

export type ContactSegmentRow = {
  /** The creation time. */
  created_at: string;
  /** The id of the segment. */
  id: string;
  /** The name. */
  name: string;
};

export type ContactTopicsResponse = {
  /** The id of the contact, the same as `id`. */
  contact_id: string;
  /** The id of the contact. */
  id: string;
  /** Always `contact_topics`. */
  object: "contact_topics";
  /** The topics, newest first. */
  topics: TopicSubscription[];
};

export type CreateApiKeyRequest = {
  /** The only domain that the key can send from. */
  domain_id?: string | null;
  /** The name, 1 to 80 characters. */
  name: string;
  /** `full_access` unless given, or `sending_access`. */
  permission?: "full_access" | "sending_access" | null;
};

export type CreateApiKeyResponse = {
  /** The id. */
  id: string;
  /** The key value: `rm_` and 32 characters. */
  token: string;
};

export type CreateBroadcastRequest = {
  /** The older name of `segment_id`. */
  audience_id?: string | null;
  /** The sender: `user@example.com` or `Name <user@example.com>`. To send the broadcast, its domain must be verified. */
  from: string;
  /** The HTML part, with merge fields. A draft without `html` and `text` cannot be sent. */
  html?: string | null;
  /** The name, up to 255 characters, which recipients do not see; the subject by default. */
  name?: string | null;
  /** The text that mail clients show beside the subject, up to 500 characters, with merge fields. */
  preview_text?: string | null;
  /** The addresses for replies. */
  reply_to?: string | string[] | null;
  /** When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`. Requires `send`. */
  scheduled_at?: string | null;
  /** The segment of the recipients. Without it, all contacts of the team are recipients. */
  segment_id?: string | null;
  /** Whether to send the broadcast. If it cannot be sent, the draft remains. */
  send?: boolean | null;
  /** The subject, up to 998 characters, with merge fields. */
  subject: string;
  /** The text part, with merge fields. Generated from `html` if absent. */
  text?: string | null;
  /** The topic that the recipients must receive. Without it, every subscribed contact is a recipient. */
  topic_id?: string | null;
};

export type CreateContactPropertyRequest = {
  /** The value of a contact without one, of the type of the property: a number, or a string of up to 1,000 characters. */
  fallback_value?: string | number | null;
  /** The key: 1 to 50 letters, digits and underscores. Two keys must differ in more than letter case. */
  key: string;
  /** The type of the values: `string` or `number`. */
  type: "string" | "number";
};

export type CreateContactRequest = {
  /** One more segment that the contact becomes a member of, by the deprecated name. */
  audience_id?: string | null;
  /** The bare address, without a display name. */
  email: string;
  /** The first name. */
  first_name?: string | null;
  /** The last name. */
  last_name?: string | null;
  /** Values by key. */
  properties?: Record<string, string | number | null> | null;
  /** One more segment that the contact becomes a member of. */
  segment_id?: string | null;
  /** Segments that the contact becomes a member of. */
  segments?: SegmentReference[] | null;
  /** Topic choices of the contact. */
  topics?: TopicChoice[] | null;
  /** Whether the contact opts out of all marketing email. */
  unsubscribed?: boolean | null;
};

export type CreateDomainRequest = {
  /** Only sending `enabled` and receiving `disabled` are accepted. */
  capabilities?: CapabilitiesRequest | null;
  /** Whether clicks are recorded. Default: false. */
  click_tracking?: boolean | null;
  /** Label of the subdomain that receives bounces. Default: `send`. */
  custom_return_path?: string | null;
  /** Name, such as `example.com` or `mail.example.com`. */
  name: string;
  /** Whether opens are recorded. Default: false. */
  open_tracking?: boolean | null;
  /** One of the regions that this server offers. Default: the first one. */
  region?: string | null;
  /** Only `opportunistic` is accepted. */
  tls?: "opportunistic" | null;
  /** Label of the subdomain in tracked links. */
  tracking_subdomain?: string | null;
};

export type CreateSegmentRequest = {
  /** The filter. Without one, the segment contains only its members. */
  filter?: FilterRequest | null;
  /** The name, 1 to 255 characters. */
  name: string;
};

export type CreateSuppressionRequest = {
  /** The address. A display name is ignored. */
  email: string;
  /** The origin; `manual` by default. */
  origin?: "bounce" | "complaint" | "manual" | "unsubscribe" | null;
};

export type CreateTemplateRequest = {
  /** The alias, which paths and sends accept in place of the id: 1 to 100 letters, digits, dots, underscores and hyphens. It is no UUID. Each alias belongs to one template of the team. */
  alias?: string | null;
  /** The HTML part. Fields have the form `{{{NAME}}}` or `{{{NAME|fallback}}}`. */
  html: string;
  /** The name, 1 to 255 characters. */
  name: string;
  /** The subject, up to 998 characters. Without one, each send gives a subject. */
  subject?: string | null;
  /** The text part. Generated from `html` if absent. */
  text?: string | null;
};

export type CreateTopicRequest = {
  /** The subscription of a contact without a choice: `opt_in` or `opt_out`. It cannot be changed. */
  default_subscription: "opt_in" | "opt_out";
  /** The text on the preference page, up to 200 characters. */
  description?: string | null;
  /** The name, 1 to 50 characters. Recipients see it. */
  name: string;
  /** `public` or `private`; `private` by default. The preference page lists only public topics. */
  visibility?: "public" | "private" | null;
};

export type CreateWebhookRequest = {
  /** The `https` URL that events are posted to, up to 2048 characters. */
  endpoint: string;
  /** The types of events to subscribe to, at least one. */
  events: ("email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.prefetched" | "email.failed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.topic_opt_in" | "contact.topic_opt_out" | "suppression.added" | "suppression.removed" | "deliverability.warning" | "deliverability.paused" | "quota.warning" | "quota.reached" | "quota.paused")[];
  /** The signing secret, `whsec_` and base64 of 24 to 64 bytes; generated if omitted. */
  signing_secret?: string | null;
  /** `enabled` or `disabled`; enabled if omitted. */
  status?: "enabled" | "disabled" | null;
};

export type CreatedWebhook = {
  /** The id. */
  id: string;
  /** Always `webhook`. */
  object: "webhook";
  /** The signing secret. */
  signing_secret: string;
};

export type CreditsUsage = {
  /** Always 0. */
  limit: 0;
  /** Always null. */
  next_increase_at: null;
  /** Always 0. */
  used: 0;
};

export type DeletedApiKey = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `api_key`. */
  object: "api_key";
};

export type DeletedBroadcast = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `broadcast`. */
  object: "broadcast";
};

export type DeletedContact = {
  /** The id of the contact. */
  contact: string;
  /** Always true. */
  deleted: true;
  /** The id of the contact, the same as `contact`. */
  id: string;
  /** Always `contact`. */
  object: "contact";
};

export type DeletedContactProperty = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `contact_property`. */
  object: "contact_property";
};

export type DeletedDomain = {
  /** Always true. */
  deleted: true;
  /** Id of the domain. */
  id: string;
  /** Always `domain`. */
  object: "domain";
};

export type DeletedEmail = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `email`. */
  object: "email";
};

export type DeletedSegment = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** `segment`, or `audience` on the older paths. */
  object: string;
};

export type DeletedSuppression = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `suppression`. */
  object: "suppression";
};

export type DeletedTemplate = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `template`. */
  object: "template";
};

export type DeletedTopic = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `topic`. */
  object: "topic";
};

export type DeletedWebhook = {
  /** Always true. */
  deleted: true;
  /** The id. */
  id: string;
  /** Always `webhook`. */
  object: "webhook";
};

export type Deliverability = {
  /** `excellent` from 9, `good` from 7, `needs_attention` from 5, `at_risk` below; null without a score. */
  band: string | null;
  /** Recipients who reported an email as spam, as a fraction of `emails_sent`. */
  complaint_rate: number;
  /** Mean score of the content of the emails, weighted by their recipients; null without a scored email. */
  content_score: number | null;
  /** Emails that were sent, one for each recipient. */
  emails_sent: number;
  /** `ok`; `warning` if a rate is high; `paused` while new sends are refused. */
  guardrail_status: string;
  /** Permanent bounces, as a fraction of `emails_sent`. */
  hard_bounce_rate: number;
  /** Whether there are fewer than 100 recipients, which is too few for `outcome_score`. */
  insufficient_outcome_data: boolean;
  /** Always `deliverability`. */
  object: "deliverability";
  /** Score of the bounces and complaints; null with fewer than 100 recipients. */
  outcome_score: number | null;
  /** Score from 0 to 10 with one decimal; null without a content score and an outcome score. */
  score: number | null;
  /** Version of the formula of the scores. Always 1. */
  score_version: number;
  /** Recipients of emails with a content score. */
  scored_recipients: number;
  /** Number of days that the figures cover. Always 30. */
  window_days: number;
};

export type DeliverabilityEvent = {
  /** The time of the event. */
  created_at: string;
  /** The rate. */
  data: DeliverabilityEventData;
  /** The type of the event. */
  type: string;
};

export type DeliverabilityEventData = {
  /** The page that shows the rate. */
  dashboard_url: string;
  /** The limit that the rate exceeds, between 0 and 1. */
  limit: number;
  /** `bounce` or `complaint`. */
  metric: string;
  /** The rate, between 0 and 1. */
  rate: number;
  /** Days over which the rate was measured. */
  window_days: number;
};

export type Domain = {
  /** Capabilities of the domain. */
  capabilities: DomainCapabilities;
  /** Whether clicks are recorded. */
  click_tracking: boolean;
  /** Time of creation. */
  created_at: string;
  /** Id of the domain. */
  id: string;
  /** Name of the domain. */
  name: string;
  /** Always `domain`. */
  object: "domain";
  /** Whether opens are recorded. */
  open_tracking: boolean;
  /** Region given at creation. */
  region: string;
  /** `not_started`, `pending`, `verified` or `failed`. Only a verified domain can be used as a sender. */
  status: "not_started" | "pending" | "verified" | "failed";
  /** Label of the subdomain in tracked links. */
  tracking_subdomain?: string | null;
};

export type DomainCapabilities = {
  /** Always `disabled`. */
  receiving: "disabled";
  /** Always `enabled`. */
  sending: "enabled";
};

export type DomainRecord = {
  /** One line with the complete name of the record and the problem. */
  detail?: string | null;
  /** Parent domain that publishes the DMARC policy. */
  inherited_from?: string | null;
  /** Result of the last lookup: `found`, `missing`, `mismatch` or `unknown`. Before the first check, `unknown`. */
  live: "found" | "missing" | "mismatch" | "unknown";
  /** Name relative to the registrable domain. */
  name: string;
  /** DMARC policy that applies to the domain: `none`, `quarantine` or `reject`. */
  policy?: string | null;
  /** Preference of an MX record. */
  priority?: number | null;
  /** Purpose: `SPF`, `DKIM`, `Tracking` or `DMARC`. */
  record: "SPF" | "DKIM" | "Tracking" | "DMARC";
  /** `not_started`, `pending`, `verified`, `failed` or `temporary_failure`. */
  status: "not_started" | "pending" | "verified" | "failed" | "temporary_failure";
  /** Always `Auto`: any TTL is accepted. */
  ttl: "Auto";
  /** `TXT`, `MX` or `CNAME`. */
  type: "TXT" | "MX" | "CNAME";
  /** Value of the record. */
  value: string;
};

export type DomainReference = {
  /** Id of the domain. */
  id: string;
  /** Always `domain`. */
  object: "domain";
};

export type DomainWithRecords = Domain & {
  /** Recommended records that are not required: the DMARC policy. */
  recommended_records: DomainRecord[];
  /** Records for sending, signing and tracking. The status `verified` requires the two records of the return path (`SPF`) and the RSA key (the first `DKIM`). */
  records: DomainRecord[];
};

export type EmailAttempt = {
  /** The IP address and the port of the server; null if none was found. */
  address: string | null;
  /** The end of the attempt. */
  created_at: string;
  /** The name of the server; null if none was found. */
  host: string | null;
  /** The id. */
  id: string;
  /** The number of the attempt for these recipients, from 1. */
  number: number;
  /** Always `email_attempt`. */
  object: "email_attempt";
  /** Whether an earlier attempt may have delivered the message. */
  possible_duplicate: boolean;
  /** The result in one line. */
  result: string;
  /** The encryption; null in clear text, or without a session. */
  tls: AttemptTls | null;
  /** Whether the session was in clear text although the server had TLS within the last 7 days. */
  tls_downgraded: boolean;
  /** The recipients. */
  to: string[];
  /** The commands and the replies without the message, one line each. A line starts with `C:` (command), `S:` (reply) or `--` (remark). */
  transcript: string;
};

export type EmailAttempts = {
  /** The attempts, newest first. */
  data: EmailAttempt[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
  /** The recipients in the queue, with the reason why they wait. The same on each page. */
  waiting: EmailWaiting[];
};

export type EmailBatchItemError = {
  /** The index in the request, from 0. */
  index: number;
  /** The reason of the rejection. */
  message: string;
};

export type EmailEvent = {
  /** The time of the event. */
  created_at: string;
  /** The email. */
  data: EmailEventData;
  /** The type of the event. */
  type: string;
};

export type EmailEventData = {
  /** Of `email.bounced`: the bounce. */
  bounce?: EventBounce;
  /** The id of the broadcast; absent for an email of the API. */
  broadcast_id?: string;
  /** Of `email.clicked` and `email.prefetched`: the link. */
  click?: EventClick;
  /** Of `email.complained`: the kind of complaint, if the report has it. */
  complaint_feedback_type?: string;
  /** The time of acceptance. */
  created_at: string;
  /** The id of the email. */
  email_id: string;
  /** Of `email.failed`: the reason. */
  failed?: EventFailure;
  /** The sender. */
  from: string;
  /** The custom headers of the email; absent without headers. */
  headers?: EventHeader[];
  /** The `Message-ID` of the email. */
  message_id: string;
  /** Of `email.opened` and `email.prefetched`: the load of the pixel. */
  open?: EventOpen;
  /** The subject. */
  subject: string;
  /** The tags of the email; absent without tags. */
  tags?: Record<string, string>;
  /** The id of the template; absent for an email without one. */
  template_id?: string;
  /** The recipients of the event. */
  to: string[];
};

export type EmailInsight = {
  /** The facts of the result. A fact that the check does not need is absent. */
  detail: EmailInsightDetail;
  /** The id of the check, such as `plain_text`. Later versions can add further ones. */
  id: string;
  /** `critical`, `major`, `minor`, or `info`. */
  severity: string;
  /** `pass`, `fail`, `passed_by_design`, `not_applicable`, or `unknown`. */
  status: string;
  /** The part of the score that the check subtracts if it fails. */
  weight: number;
};

export type EmailInsightDetail = {
  /** The size of the HTML part. */
  bytes?: number | null;
  /** The number of capital letters of the subject. */
  capitals?: number | null;
  /** The number of characters of the text part or of the visible text, or of letters of the subject. */
  characters?: number | null;
  /** Whether each visible unsubscribe link is behind the end of the part that Gmail shows. */
  clipped?: boolean | null;
  /** The number of links, images, or attachments. */
  count?: number | null;
  /** The number of them that fail. */
  failing?: number | null;
  /** Whether each unsubscribe link is hidden. */
  hidden?: boolean | null;
  /** The hosts that the check names, at most 5. */
  hosts?: string[];
  /** The age of the last lookup of the DNS record, in hours. */
  hours?: number | null;
  /** Whether the email has `List-Unsubscribe`. */
  list_unsubscribe?: boolean | null;
  /** Whether the email has `List-Unsubscribe-Post`. */
  one_click?: boolean | null;
  /** Whether the tracking host is a name of the sender's domain. */
  own_host?: boolean | null;
  /** Whether opens or clicks are tracked. */
  tracked?: boolean | null;
};

export type EmailInsights = {
  /** The checks. */
  checks: EmailInsight[];
  /** The time of the checks. */
  created_at: string;
  /** The id of the email. */
  email_id: string;
  /** Always `email_insights`. */
  object: "email_insights";
  /** The score from 0 to 10, with one decimal. */
  score: number;
  /** The version of the checks and their weights. */
  score_version: number;
};

export type EmailMetricValues = {
  /** `bounced` in percent of `sent`. */
  bounce_rate?: number | null;
  /** Sum of the three kinds of bounces. */
  bounced?: number | null;
  /** Refused permanently. */
  bounced_permanent?: number | null;
  /** Refused for a temporary reason. */
  bounced_transient?: number | null;
  /** Refused; the reply does not state for how long. */
  bounced_undetermined?: number | null;
  /** `unique_clicked` in percent of `delivered`. */
  click_rate?: number | null;
  /** Clicks by people. */
  clicked?: number | null;
  /** Reported as spam. */
  complained?: number | null;
  /** `complained` in percent of `delivered`. */
  complaint_rate?: number | null;
  /** Accepted by the server of the recipient. */
  delivered?: number | null;
  /** Temporarily refused, once for each `email.delivery_delayed`. */
  delivery_delayed?: number | null;
  /** `delivered` in percent of `sent`. */
  delivery_rate?: number | null;
  /** Given up for a reason other than the recipient. */
  failed?: number | null;
  /** `unique_opened` in percent of `delivered`. */
  open_rate?: number | null;
  /** Opens by people. */
  opened?: number | null;
  /** Opens and clicks by software. Only on request. */
  prefetched?: number | null;
  /** Always 0. */
  received?: 0;
  /** The delivery to them has started. */
  sent?: number | null;
  /** Not sent to, because the address is suppressed or has opted out. */
  suppressed?: number | null;
  /** Recipients who have clicked a link. */
  unique_clicked?: number | null;
  /** Recipients who have opened an email. */
  unique_opened?: number | null;
  /** `unsubscribed` in percent of `delivered`. */
  unsubscribe_rate?: number | null;
  /** Opt-outs with the unsubscribe link of an email. */
  unsubscribed?: number | null;
};

export type EmailMetrics = {
  /** One row for each combination of the dimensions, in the order of the periods. Absent without dimensions. */
  data?: EmailMetricsRow[] | null;
  /** The dimensions of `data`. */
  dimensions: string[];
  /** End of the range, excluding it. */
  end_date: string;
  /** Length of a period. */
  granularity: string;
  /** The metrics of the response. */
  metrics: string[];
  /** Always `metrics`. */
  object: "metrics";
  /** Start of the range. */
  start_date: string;
  /** The metrics of the whole range. */
  totals: EmailMetricValues;
};

export type EmailMetricsRow = EmailMetricValues & {
  /** Id of the broadcast; null for emails without one. */
  broadcast_id?: string | null;
  /** Name of the broadcast; null if it is deleted, and for emails without one. */
  broadcast_name?: string | null;
  /** Id of the domain of the sender. */
  domain_id?: string | null;
  /** Name of the domain; null if it is deleted. */
  domain_name?: string | null;
  /** Id of the email. */
  email_id?: string | null;
  /** Start of the period in the time zone: a date such as `2026-07-01`, or a date and an hour such as `2026-07-01T13:00`. */
  period?: string | null;
};

export type EmailReference = {
  /** The id. */
  id: string;
  /** Always `email`. */
  object: "email";
};

export type EmailResponse = EmailSummary & {
  /** The attached files, without their content. */
  attachments: AttachmentSummary[];
  /** The timeline, oldest event first. */
  events: EventResponse[];
  /** The HTML part; null after retention has deleted it. */
  html: string | null;
  /** Each recipient with its own status. */
  recipients: RecipientResponse[];
  /** The tags. */
  tags: TagResponse[];
  /** The text part; null after retention has deleted it. */
  text: string | null;
};

export type EmailSummary = {
  /** The recipients in blind copy. */
  bcc: string[] | null;
  /** The recipients in copy. */
  cc: string[] | null;
  /** The time of acceptance. */
  created_at: string;
  /** The sender. */
  from: string;
  /** The id. */
  id: string;
  /** The highest status of all recipients. */
  last_event: "scheduled" | "queued" | "sent" | "delivery_delayed" | "delivered" | "opened" | "clicked" | "bounced" | "complained" | "suppressed" | "failed" | "canceled";
  /** The `Message-ID` header. */
  message_id: string;
  /** Always `email`. */
  object: "email";
  /** The addresses for replies. */
  reply_to: string[] | null;
  /** The requested due time. */
  scheduled_at: string | null;
  /** The subject. */
  subject: string;
  /** The recipients. */
  to: string[];
  /** The topic of the email. */
  topic_id: string | null;
};

export type EmailWaiting = {
  /** The number of attempts for them so far. */
  attempts: number;
  /** Their domain. */
  domain: string;
  /** The reason in one or two sentences. */
  reason: string;
  /** The state: `scheduled`, `fan_out`, `retry`, `session`, `lookup`, `lookup_failed`, `hosts_paused`, `site_paused`, `rate_limited`, `warm_up`, `slowed`, `held`, `queue_held`, or `stopped`. Later versions can add further ones. */
  state: string;
  /** The recipients. */
  to: string[];
  /** The expected time of the next attempt; null if it is not known. */
  until: string | null;
};

export type EmailsOfSpan = {
  /** Always null: no limit. */
  limit: null;
  /** Always 0. */
  received: 0;
  /** Start of the next day or month, in UTC. */
  resets_at: string;
  /** Emails accepted. */
  sent: number;
  /** Sum of `sent` and `received`. */
  used: number;
};

export type EmailsUsage = {
  /** This UTC day. */
  daily: EmailsOfSpan;
  /** This UTC month. */
  monthly: EmailsOfSpan;
};

export type Error = {
  /** The problem and the accepted values. */
  message: string;
  /** The name of the error. */
  name: string;
  /** The HTTP status. */
  statusCode: number;
};

export type EventBounce = {
  /** The replies of the recipient's server. */
  diagnosticCode: string[];
  /** A readable description. */
  message: string;
  /** The subtype, such as `General`, `NoEmail` or `MailboxFull`. */
  subType: string;
  /** `Permanent`, `Transient` or `Undetermined`. */
  type: string;
};

export type EventClick = {
  /** The IP address of the client. */
  ipAddress: string;
  /** The URL of the link. */
  link: string;
  /** For a click by software, the reason of this classification. */
  reason?: string;
  /** The time. */
  timestamp: string;
  /** The user agent of the client. */
  userAgent: string;
};

export type EventFailure = {
  /** The reason. */
  reason: string;
};

export type EventHeader = {
  /** The name. */
  name: string;
  /** The value. */
  value: string;
};

export type EventOpen = {
  /** The IP address of the client. */
  ipAddress: string;
  /** `click` for an open that a click proves. For an open by software, the reason of this classification. */
  reason?: string;
  /** The time. */
  timestamp: string;
  /** The user agent of the client. */
  userAgent: string;
};

export type EventResponse = {
  /** Of `email.bounced`: the bounce. */
  bounce?: BounceResponse | null;
  /** Of `email.clicked` and `email.prefetched`: the link. */
  click?: ClickResponse | null;
  /** Of `email.complained`: the kind of complaint, if the report has it. */
  complaint_feedback_type?: string | null;
  /** The time of the event. */
  created_at: string;
  /** Of `email.failed`: the reason. */
  failed?: FailedResponse | null;
  /** Of `email.bounced`, `email.failed`, `email.delivery_delayed` and `email.complained`: the meaning and the next step. */
  guidance?: GuidanceResponse | null;
  /** Of `email.opened` and `email.prefetched`: the load of the pixel. */
  open?: OpenResponse | null;
  /** The reply of the recipient's server. */
  reply?: string | null;
  /** The recipients of the event. */
  to: string[];
  /** The event type. */
  type: string;
};

export type FailedResponse = {
  /** The reason. */
  reason: string;
};

export type FilterRequest = {
  /** Up to 50 conditions. */
  conditions: ConditionRequest[];
  /** `all` if every condition must be true, `any` if one is enough. */
  match: "all" | "any";
};

export type FilterResponse = {
  /** The conditions. */
  conditions: ConditionResponse[];
  /** `all` if every condition must be true, `any` if one is enough. */
  match: "all" | "any";
};

export type GuidanceResponse = {
  /** The next step. */
  action: string;
  /** `recipient`, `content`, `reputation`, `policy`, `provider`, `transient` or `unknown`. */
  category: string;
  /** The meaning. */
  explanation: string;
  /** A few words. */
  title: string;
};

export type IngestResult = {
  /** Findings that changed something. */
  accepted: number;
  /** Findings that changed nothing. */
  ignored: number;
  /** Always `ingest`. */
  object: "ingest";
};

export type ListOfApiKeyResponse = {
  /** The items, newest first. */
  data: ApiKeyResponse[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfAttachmentResponse = {
  /** The items, newest first. */
  data: AttachmentResponse[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfBroadcastRecipientResponse = {
  /** The items, newest first. */
  data: BroadcastRecipientResponse[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfBroadcastSummary = {
  /** The items, newest first. */
  data: BroadcastSummary[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfClickedLink = {
  /** The items, newest first. */
  data: ClickedLink[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfContact = {
  /** The items, newest first. */
  data: Contact[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfContactProperty = {
  /** The items, newest first. */
  data: ContactProperty[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfContactSegmentRow = {
  /** The items, newest first. */
  data: ContactSegmentRow[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfDomain = {
  /** The items, newest first. */
  data: Domain[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfEmailSummary = {
  /** The items, newest first. */
  data: EmailSummary[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfListedTemplate = {
  /** The items, newest first. */
  data: ListedTemplate[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfLogSummary = {
  /** The items, newest first. */
  data: LogSummary[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfSegment = {
  /** The items, newest first. */
  data: Segment[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfSuppression = {
  /** The items, newest first. */
  data: Suppression[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfTopic = {
  /** The items, newest first. */
  data: Topic[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfTopicSubscription = {
  /** The items, newest first. */
  data: TopicSubscription[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfWebhook = {
  /** The items, newest first. */
  data: Webhook[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfWebhookEvent = {
  /** The items, newest first. */
  data: WebhookEvent[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListOfWebhookEventAttempt = {
  /** The items, newest first. */
  data: WebhookEventAttempt[];
  /** Whether there are more items in the direction of the page. */
  has_more: boolean;
  /** Always `list`. */
  object: "list";
};

export type ListedTemplate = {
  /** The alias. */
  alias: string | null;
  /** Time of creation. */
  created_at: string;
  /** The id. */
  id: string;
  /** The name. */
  name: string;
  /** Time of the last publication. */
  published_at: string | null;
  /** `draft` or `published`. */
  status: "draft" | "published";
  /** Time of the last change or publication. */
  updated_at: string;
};

export type Log = {
  /** The API key of the request. */
  api_key_id: string;
  /** Start of the request. */
  created_at: string;
  /** The cause of an error, if the response does not contain it: for `all_recipients_suppressed`, the recipients with their reasons. Otherwise null. */
  detail: string | null;
  /** Time until the response was ready, in milliseconds. */
  duration_ms: number;
  /** The path without the query. */
  endpoint: string;
  /** The id, equal to the `x-request-id` header of the response. */
  id: string;
  /** The method. */
  method: string;
  /** Always `log`. */
  object: "log";
  /** The body of the request, with `[redacted]` in place of secret fields. Null if it is not JSON, and `{"truncated": true, "bytes": …}` if it is too large. */
  request_body: unknown;
  /** The body of the response, in the same form. */
  response_body: unknown;
  /** The status of the response. */
  response_status: number;
  /** The `User-Agent` header of the request. */
  user_agent: string | null;
};

export type LogSummary = {
  /** The API key of the request. */
  api_key_id: string;
  /** Start of the request. */
  created_at: string;
  /** Time until the response was ready, in milliseconds. */
  duration_ms: number;
  /** The path without the query. */
  endpoint: string;
  /** The id, equal to the `x-request-id` header of the response. */
  id: string;
  /** The method. */
  method: string;
  /** The status of the response. */
  response_status: number;
  /** The `User-Agent` header of the request. */
  user_agent: string | null;
};

export type MissingContact = {
  /** The address in the request. */
  email?: string | null;
  /** The id in the request. */
  id?: string | null;
  /** The index in the request, from 0. */
  index: number;
};

export type OpenResponse = {
  /** The IP address of the client. */
  ipAddress: string;
  /** `click` for an open that a click proves. For an open by software, the reason of this classification. */
  reason?: string | null;
  /** The time. */
  timestamp: string;
  /** The user agent of the client. */
  userAgent: string;
};

export type OptionalLimit = {
  /** Largest allowed count; null for no limit. */
  limit: number | null;
  /** Current count. */
  used: number;
};

export type PreferencesLink = {
  /** The contact's id. */
  contact: string;
  /** Always `preferences_link`. */
  object: "preferences_link";
  /** URL of the preference page. It does not expire, and a person who has it can change the choices of the contact. */
  url: string;
};

export type QuotaEvent = {
  /** The time of the event. */
  created_at: string;
  /** The quota. */
  data: QuotaEventData;
  /** The type of the event. */
  type: string;
};

export type QuotaEventData = {
  /** Of a day: the number of emails after which new emails are held. */
  ceiling?: number;
  /** The page that shows the quota. */
  dashboard_url: string;
  /** Emails allowed in the period. */
  limit: number;
  /** Of a month: whether emails above the limit are billed. */
  overage?: boolean;
  /** `day` or `month`. */
  period: string;
  /** The start of the next period. */
  resets_at: string;
  /** Emails sent in the period. */
  used: number;
};

export type RecipientClickedLink = {
  /** Number of clicks of the recipient. */
  clicks: number;
  /** The URL in the email of the recipient. */
  url: string;
};

export type RecipientResponse = {
  /** The address without a display name. */
  email: string;
  /** The status of the recipient. */
  last_event: "scheduled" | "queued" | "sent" | "delivery_delayed" | "delivered" | "opened" | "clicked" | "bounced" | "complained" | "suppressed" | "failed" | "canceled";
};

export type RelayBounce = {
  /** The class, such as `General`. */
  sub_type?: string | null;
  /** `Permanent`, `Transient` or `Undetermined`. */
  type?: string | null;
};

export type RelayEvent = {
  /** Of `bounced`: the bounce. */
  bounce?: RelayBounce | null;
  /** Of `complained`: one word. */
  complaint_feedback_type?: string | null;
  /** The time in ISO 8601; now if absent. */
  created_at?: string | null;
  /** The reply of the other server; takes precedence over `reply`. */
  diagnostic?: string | null;
  /** The id of the email. Required without `message_id`. */
  email_id?: string | null;
  /** The `Message-ID` of the email. */
  message_id?: string | null;
  /** Of `failed`: one word. `rejected` if absent. */
  reason?: string | null;
  /** The address of the recipient. */
  recipient: string;
  /** The reply of the other server. */
  reply?: string | null;
};

export type RelayEventType = {
  /** `delivered`, `delayed`, `bounced`, `failed` or `complained`, or the same with `email.` before it. An event of another type is ignored. */
  type: string;
};

export type RemoveSuppressionsRequest = unknown;

export type RemovedAudienceContact = {
  /** The id; the id or address of the request if there was no such contact. */
  contact: string;
  /** Always true. */
  deleted: true;
  /** The same value as `contact`. */
  id: string;
  /** Always `contact`. */
  object: "contact";
};

export type RemovedContactResponse = {
  /** The id of the contact. */
  contact: string;
  /** Always true. */
  deleted: true;
  /** Always `contact`. */
  object: "contact";
};

export type RemovedSuppressions = {
  /** The removed suppressions, in the order of the request. */
  data: DeletedSuppression[];
};

export type RequiredLimit = {
  /** Largest allowed count. */
  limit: number;
  /** Current count. */
  used: number;
};

export type RotateSecretRequest = {
  /** The number of hours that the previous secret continues to sign, 0 to 72; 24 if omitted. */
  overlap_hours?: number | null;
  /** The new signing secret, `whsec_` and base64 of 24 to 64 bytes; generated if omitted. */
  signing_secret?: string | null;
};

export type RotatedSecret = {
  /** The id of the endpoint. */
  id: string;
  /** Always `webhook`. */
  object: "webhook";
  /** Time at which the previous secret stops signing; null if it has stopped. */
  previous_secret_expires_at: string | null;
  /** The new signing secret. */
  signing_secret: string;
};

export type RunsUsage = {
  /** Always 0. */
  limit: 0;
  /** Start of the next month, in UTC. */
  resets_at: string;
  /** Always 0. */
  used: 0;
};

export type Segment = {
  /** Time of creation. */
  created_at: string;
  /** The filter; null if the segment contains only its members. */
  filter: FilterResponse | null;
  /** The id. */
  id: string;
  /** The name. */
  name: string;
  /** `segment`, or `audience` on the older paths. */
  object: string;
};

export type SegmentReference = {
  /** The id of the segment. */
  id: string;
};

export type SegmentWithCount = Segment & {
  /** Number of contacts that the segment contains. */
  contact_count: number;
};

export type SendBatchResponse = {
  /** One entry for each accepted email, in the order of the request. */
  data: SendEmailResponse[];
  /** The rejected items of a permissive batch. */
  errors: EmailBatchItemError[];
};

export type SendBroadcastRequest = {
  /** When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`. Now by default. */
  scheduled_at?: string | null;
};

export type SendEmailRequest = unknown;

export type SendEmailResponse = {
  /** The id. */
  id: string;
};

export type SendTemplateRequest = unknown;

export type Suppression = {
  /** Time of creation. */
  created_at: string;
  /** The address in lower case; `[erased]` after an erasure. */
  email: string;
  /** The id. */
  id: string;
  /** Always `suppression`. */
  object: "suppression";
  /** `bounce`, `complaint`, `manual` or `unsubscribe`. The last applies only to emails under a topic. */
  origin: "bounce" | "complaint" | "manual" | "unsubscribe";
  /** The email that bounced or that the recipient reported. */
  source_id: string | null;
};

export type SuppressionEvent = {
  /** The time of the event. */
  created_at: string;
  /** The entry of the list. */
  data: SuppressionEventData;
  /** The type of the event. */
  type: string;
};

export type SuppressionEventData = {
  /** The time at which the entry was added. */
  created_at: string;
  /** The address; `[erased]` after an erasure. */
  email: string;
  /** The id of the entry. */
  id: string;
  /** `bounce`, `complaint`, `manual` or `unsubscribe`. */
  origin: string;
  /** `api`, `dashboard`, `hosted_page` or `one_click`; null for bounces and complaints. */
  source: string | null;
};

export type SuppressionReference = {
  /** The id. */
  id: string;
  /** Always `suppression`. */
  object: "suppression";
};

export type TagRequest = {
  /** ASCII letters, digits, underscores and hyphens; at most 256. Each name once. */
  name: string;
  /** ASCII letters, digits, underscores and hyphens; at most 256. */
  value: string;
};

export type TagResponse = {
  /** The name. */
  name: string;
  /** The value. */
  value: string;
};

export type Template = {
  /** The alias. */
  alias: string | null;
  /** Time of creation. */
  created_at: string;
  /** The id of the shown version of the content. Each change of the content makes a new one. */
  current_version_id: string;
  /** Always null: the request that sends the template gives the sender. */
  from: null;
  /** Whether the shown version is not the published one. */
  has_unpublished_versions: boolean;
  /** The HTML part. */
  html: string;
  /** The id. */
  id: string;
  /** The name. */
  name: string;
  /** Always `template`. */
  object: "template";
  /** Time of the last publication. */
  published_at: string | null;
  /** Always null: the request that sends the template gives the addresses. */
  reply_to: null;
  /** `draft` or `published`. */
  status: "draft" | "published";
  /** The subject. */
  subject: string | null;
  /** The text part. */
  text: string | null;
  /** Time of the last change or publication. */
  updated_at: string;
  /** Always empty: the content names its variables. */
  variables: string[];
};

export type TestWebhookRequest = {
  /** A type that the endpoint subscribes to. If omitted: `email.delivered`, or the first of its types if it does not subscribe to that. */
  type?: "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.prefetched" | "email.failed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.topic_opt_in" | "contact.topic_opt_out" | "suppression.added" | "suppression.removed" | "deliverability.warning" | "deliverability.paused" | "quota.warning" | "quota.reached" | "quota.paused" | null;
};

export type TodayResponse = {
  /** Emails accepted since UTC midnight. */
  emails_sent: number;
  /** The next UTC midnight. */
  resets_at: string;
};

export type Topic = {
  /** Time of creation. */
  created_at: string;
  /** The subscription of a contact without a choice: `opt_in` or `opt_out`. */
  default_subscription: "opt_in" | "opt_out";
  /** The text on the preference page. */
  description: string | null;
  /** The id. */
  id: string;
  /** The name. */
  name: string;
  /** Always `topic`. */
  object: "topic";
  /** `public` or `private`. */
  visibility: "public" | "private";
};

export type TopicChoice = {
  /** The id of the topic. */
  id: string;
  /** `opt_in` or `opt_out`. */
  subscription: "opt_in" | "opt_out";
};

export type TopicSubscription = {
  /** The creation time of the topic. */
  created_at: string;
  /** The description on the preference page. */
  description: string | null;
  /** Whether the contact has a choice for the topic. */
  explicit: boolean;
  /** The id of the topic. */
  id: string;
  /** The name. */
  name: string;
  /** `opt_in` or `opt_out`: the contact's choice, or the default of the topic if there is no choice. */
  subscription: "opt_in" | "opt_out";
  /** `public` or `private`. */
  visibility: "public" | "private";
};

export type UpdateApiKeyRequest = {
  /** The name, 1 to 80 characters. */
  name: string;
};

export type UpdateBroadcastRequest = {
  /** The older name of `segment_id`. */
  audience_id?: string | null;
  /** The sender. */
  from?: string | null;
  /** The HTML part; null or an empty text removes it. */
  html?: string | null;
  /** The name, up to 255 characters; null or an empty text for the subject. */
  name?: string | null;
  /** The text that mail clients show beside the subject; null or an empty text removes it. */
  preview_text?: string | null;
  /** The addresses for replies; null or an empty array removes them. */
  reply_to?: string | string[] | null;
  /** The segment of the recipients; null for all contacts of the team. */
  segment_id?: string | null;
  /** The subject, up to 998 characters, with merge fields. */
  subject?: string | null;
  /** The text part; null or an empty text removes it. */
  text?: string | null;
  /** The topic that the recipients must receive; null for every subscribed contact. */
  topic_id?: string | null;
};

export type UpdateContactPropertyRequest = {
  /** The value of a contact without one, of the type of the property: a number, or a string of up to 1,000 characters. Null removes it. */
  fallback_value?: string | number | null;
};

export type UpdateContactRequest = {
  /** A segment that the contact becomes a member of, by the deprecated name. */
  audience_id?: string | null;
  /** The address of the contact, which cannot change. */
  email?: string | null;
  /** The first name; null removes it. */
  first_name?: string | null;
  /** The last name; null removes it. */
  last_name?: string | null;
  /** Values by key, merged with the stored values; null removes a value. */
  properties?: Record<string, string | number | null> | null;
  /** A segment that the contact becomes a member of. */
  segment_id?: string | null;
  /** True opts the contact out of all marketing email; false subscribes it again. */
  unsubscribed?: boolean | null;
};

export type UpdateDomainRequest = {
  /** Whether clicks are recorded. */
  click_tracking?: boolean | null;
  /** Whether opens are recorded. */
  open_tracking?: boolean | null;
  /** Label of the subdomain in tracked links. Null or an empty text removes it. */
  tracking_subdomain?: string | null;
};

export type UpdateEmailRequest = {
  /** When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`. */
  scheduled_at: string;
};

export type UpdateSegmentRequest = {
  /** The filter. Null removes it: the segment then contains only its members. */
  filter?: FilterRequest | null;
  /** The name, 1 to 255 characters. */
  name?: string | null;
};

export type UpdateTemplateRequest = {
  /** The alias; null or an empty text removes it. */
  alias?: string | null;
  /** The HTML part. */
  html?: string | null;
  /** The name, 1 to 255 characters. */
  name?: string | null;
  /** The subject, up to 998 characters; null or an empty text removes it. */
  subject?: string | null;
  /** The text part; null or an empty text removes it. */
  text?: string | null;
};

export type UpdateTopicRequest = {
  /** The text on the preference page, up to 200 characters; null or an empty text removes it. */
  description?: string | null;
  /** The name, 1 to 50 characters. */
  name?: string | null;
  /** `public` or `private`. */
  visibility?: "public" | "private" | null;
};

export type UpdateWebhookRequest = {
  /** The `https` URL that events are posted to, up to 2048 characters. */
  endpoint?: string | null;
  /** The types of events to subscribe to, at least one. */
  events?: ("email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.prefetched" | "email.failed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.topic_opt_in" | "contact.topic_opt_out" | "suppression.added" | "suppression.removed" | "deliverability.warning" | "deliverability.paused" | "quota.warning" | "quota.reached" | "quota.paused")[] | null;
  /** `enabled` or `disabled`. */
  status?: "enabled" | "disabled" | null;
};

export type Usage = {
  /** Credits of a service that this server does not have. Always zero. */
  ai_credits: CreditsUsage;
  /** URL of the dashboard. */
  app_url: string;
  /** Runs of automations, which this server does not have. Always zero. */
  automation_runs: RunsUsage;
  /** Broadcasts that were sent or scheduled in this UTC month. */
  broadcasts: OptionalLimit;
  /** Always false: the instance is self-hosted. */
  cloud: false;
  /** Contacts. The limit is 2147483647, which means no limit. */
  contacts: RequiredLimit;
  /** Domains. The count stops at 10000. */
  domains: OptionalLimit;
  /** Emails by day and by month. */
  emails: EmailsUsage;
  /** Always null: nothing is limited by a plan. */
  limits: null;
  /** Always `usage`. */
  object: "usage";
  /** Always null: nothing is billed. */
  period: null;
  /** Always null: there are no plans. */
  plan: null;
  /** Rate limit of an API key. */
  rate_limit: UsageRateLimit;
  /** Segments. */
  segments: OptionalLimit;
  /** The team of the API key. */
  team: UsageTeam;
  /** Emails of this UTC day. */
  today: TodayResponse;
};

export type UsageRateLimit = {
  /** Always `1000ms`. */
  duration: "1000ms";
  /** Requests in each `duration`; 2147483647 if the limit is off. */
  limit: number;
};

export type UsageTeam = {
  /** The id. */
  id: string;
  /** The name. */
  name: string;
};

export type Webhook = {
  /** Time of its creation. */
  created_at: string;
  /** The URL that events are posted to. */
  endpoint: string;
  /** The types of events that it subscribes to; null for all except `email.prefetched`. */
  events: string[] | null;
  /** The id. */
  id: string;
  /** Always `webhook`. */
  object: "webhook";
  /** `enabled`, or `disabled` by the team or after too many failed deliveries. */
  status: "enabled" | "disabled";
};

export type WebhookEvent = {
  /** Time of the event. */
  created_at: string;
  /** The id. It differs for each endpoint that receives the event. */
  id: string;
  /** `pending`, `attempting`, `success` or `failed`. */
  status: "pending" | "attempting" | "success" | "failed";
  /** The type of the event. */
  type: "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.prefetched" | "email.failed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.topic_opt_in" | "contact.topic_opt_out" | "suppression.added" | "suppression.removed" | "deliverability.warning" | "deliverability.paused" | "quota.warning" | "quota.reached" | "quota.paused";
};

export type WebhookEventAttempt = {
  /** The HTTP status; 0 if there was no response. */
  http_status_code: number;
  /** The id. */
  id: string;
  /** The start of the response body, or the error. */
  response: string;
  /** Time of the request. */
  sent_at: string;
};

export type WebhookEventReference = {
  /** The id. */
  id: string;
  /** Always `webhook_event`. */
  object: "webhook_event";
};

export type WebhookEventWithPayload = {
  /** Time of the event. */
  created_at: string;
  /** The id. */
  id: string;
  /** Time of the next attempt; null if none is planned or one is in progress. */
  next_attempt_at: string | null;
  /** Always `webhook_event`. */
  object: "webhook_event";
  /** The body of every request that delivers it; null if retention has deleted it. */
  payload: Record<string, unknown> | null;
  /** `pending`, `attempting`, `success` or `failed`. */
  status: "pending" | "attempting" | "success" | "failed";
  /** The type of the event. */
  type: "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.prefetched" | "email.failed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.topic_opt_in" | "contact.topic_opt_out" | "suppression.added" | "suppression.removed" | "deliverability.warning" | "deliverability.paused" | "quota.warning" | "quota.reached" | "quota.paused";
};

export type WebhookReference = {
  /** The id. */
  id: string;
  /** Always `webhook`. */
  object: "webhook";
};

export type WebhookTest = {
  /** Time of the test request. */
  created_at: string;
  /** The id, for `GET /webhooks/{id}/events/{event_id}`. */
  id: string;
  /** Always `webhook_event`. */
  object: "webhook_event";
  /** `pending`. */
  status: "pending" | "attempting" | "success" | "failed";
  /** The type of the event. */
  type: "email.scheduled" | "email.sent" | "email.delivered" | "email.delivery_delayed" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.prefetched" | "email.failed" | "contact.created" | "contact.updated" | "contact.deleted" | "contact.unsubscribed" | "contact.resubscribed" | "contact.topic_opt_in" | "contact.topic_opt_out" | "suppression.added" | "suppression.removed" | "deliverability.warning" | "deliverability.paused" | "quota.warning" | "quota.reached" | "quota.paused";
};

export type WebhookWithSecret = {
  /** Time of its creation. */
  created_at: string;
  /** The URL that events are posted to. */
  endpoint: string;
  /** The types of events that it subscribes to; null for all except `email.prefetched`. */
  events: string[] | null;
  /** The id. */
  id: string;
  /** Always `webhook`. */
  object: "webhook";
  /** Time at which the previous secret stops signing; null if only one secret signs. */
  previous_secret_expires_at: string | null;
  /** The signing secret. */
  signing_secret: string;
  /** `enabled`, or `disabled` by the team or after too many failed deliveries. */
  status: "enabled" | "disabled";
};
