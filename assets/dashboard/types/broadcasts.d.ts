// Types of broadcasts and templates in the data of the dashboard, written by hand. The shapes of the API itself
// are to come from api.d.ts as soon as the OpenAPI document has them.

export type BroadcastStatus = 'draft' | 'scheduled' | 'queued' | 'sent' | 'canceled' | 'failed';

export type BroadcastCounts = {
  queued: number;
  sent: number;
  delivered: number;
  bounced: number;
  complained: number;
  suppressed: number;
  failed: number;
  canceled: number;
  /** Emails that the delivery engine has claimed. */
  attempted: number;
};

/** A row of the list of the dashboard. */
export type BroadcastRow = {
  id: string;
  name: string | null;
  subject: string;
  from: string;
  status: BroadcastStatus;
  segment_id: string | null;
  segment_name: string | null;
  topic_id: string | null;
  topic_name: string | null;
  created_at: string;
  scheduled_at: string | null;
  sent_at: string | null;
  finishes_at: string | null;
  /** Recipients when it was sent; 0 for a draft. */
  audience: number;
  counts: BroadcastCounts;
};

/** A broadcast of the API, with its revision. */
export type Broadcast = {
  object: 'broadcast';
  id: string;
  /** Number of changes of the draft. A change names the revision that it is based on. */
  revision: number;
  name: string | null;
  from: string;
  subject: string;
  reply_to: string[] | null;
  preview_text: string | null;
  segment_id: string | null;
  topic_id: string | null;
  status: BroadcastStatus;
  created_at: string;
  scheduled_at: string | null;
  sent_at: string | null;
  finishes_at: string | null;
};

export type BroadcastContent = {
  object: 'broadcast_content';
  id: string;
  format: 'markdown' | 'html';
  /** The Markdown; null in HTML mode. */
  source: string | null;
  html: string | null;
  text: string | null;
  html_bytes: number;
  /** That of the broadcast. */
  revision: number;
};

export type BroadcastRendered = {
  object: 'broadcast_preview';
  id: string;
  contact: { id: string | null; email: string; first_name: string | null; last_name: string | null };
  from: string;
  subject: string;
  preview_text: string | null;
  html: string | null;
  text: string | null;
};

export type Finding = {
  kind: string;
  severity: 'error' | 'warning';
  message: string;
  part: 'source' | 'html' | 'text' | 'subject' | 'preview_text' | null;
  /** Position and length in the part, in UTF-16 code units. */
  at: number | null;
  length: number | null;
  line: number | null;
  name: string | null;
  url: string | null;
  contacts: number | null;
};

export type Audience = {
  total: number;
  unsubscribed: number;
  opted_out: number;
  suppressed: number;
  will_receive: number;
  /** False: the time limit was reached, and the numbers are lower bounds. */
  complete: boolean;
};

export type SendWarning = { code: 'paced' | 'queued_behind'; days: number; message: string };

export type BroadcastCheck = {
  object: 'broadcast_check';
  id: string;
  audience: Audience;
  findings: Finding[];
  html_bytes: number;
  html_bytes_max: number;
  links: { found: number; checked: number; dead: number } | null;
  /** The estimate if it were sent now. */
  finishes_at?: string | null;
  warning?: SendWarning | null;
};

/** The answer of a send. */
export type BroadcastSent = { id: string; finishes_at?: string | null; estimated?: true; warning?: SendWarning | null };

export type FunnelStep = { kind: 'audience' | 'attempted' | 'delivered' | 'bounced' | 'complained' | 'suppressed' | 'failed' | 'canceled'; count: number };

export type BroadcastReport = {
  object: 'broadcast_report';
  id: string;
  status: BroadcastStatus;
  name: string | null;
  subject: string;
  segment_name: string | null;
  topic_name: string | null;
  created_at: string;
  scheduled_at: string | null;
  started_at: string | null;
  sent_at: string | null;
  finishes_at: string | null;
  audience: number;
  counts: BroadcastCounts;
  /** Number of emails that a cancel would stop now. */
  remaining: number;
  fan_out: { queued: number; total: number; complete: boolean };
  rate_per_minute: number | null;
  funnel: FunnelStep[];
};

export type BroadcastRecipient = {
  id: string;
  contact_id: string | null;
  email: string;
  count?: number;
  bounce_type?: string | null;
};

/** A row of the list of templates. */
export type TemplateRow = {
  id: string;
  name: string;
  alias: string | null;
  status: 'draft' | 'published';
  published_at: string | null;
  created_at: string;
  updated_at: string;
};

/** A template of the API, with its revision. */
export type Template = TemplateRow & {
  object: 'template';
  /** Number of changes of name, alias and content. A change names the revision that it is based on. */
  revision: number;
  current_version_id: string;
  subject: string | null;
  html: string;
  text: string | null;
  has_unpublished_versions: boolean;
};

export type TemplateRendered = {
  object: 'template_preview';
  id: string;
  subject: string | null;
  html: string | null;
  text: string | null;
  /** The first 100 names without a value and without a fallback. */
  missing: string[];
};
