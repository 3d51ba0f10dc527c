// Types of broadcasts and templates in the routes of the dashboard alone, written by hand: the OpenAPI document,
// from which api.d.ts is made, has the routes of the API only.
import type { Broadcast, BroadcastWarning } from './api.d.ts';

export type BroadcastStatus = Broadcast['status'];

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
  /** Recipients who opened their email; software does not count. */
  opened: number;
  /** Recipients who followed a link. */
  clicked: number;
  /** Opt-outs with the link of an email. */
  unsubscribed: number;
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

/** A draft of the dashboard. */
export type BroadcastDraft = import('./api.d.ts').Broadcast & {
  /** Number of changes of the draft. A change names the revision that it is based on. */
  revision: number;
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
  warning?: BroadcastWarning | null;
};

export type FunnelStep = { kind: 'audience' | 'attempted' | 'delivered' | 'bounced' | 'complained' | 'suppressed' | 'failed' | 'canceled' | 'opened' | 'clicked'; count: number };

/** Emails of recipients at some domains. */
export type DomainCounts = {
  attempted: number;
  delivered: number;
  bounced: number;
  /** Claimed emails without a final outcome. */
  waiting: number;
};

export type BroadcastReport = {
  object: 'broadcast_report';
  id: string;
  status: BroadcastStatus;
  name: string | null;
  subject: string;
  /** Null also after its deletion. */
  segment_id: string | null;
  segment_name: string | null;
  /** Null also after its deletion. */
  topic_id: string | null;
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
  /** Recipients whose email only software opened, and whose links only software followed. */
  machines: { opened: number; clicked: number };
  /** The recipient domains with the most attempted emails, at most 8, the most first. */
  domains: (DomainCounts & { domain: string })[];
  /** The sum of all further domains, whose number is null above 1,000 domains. */
  other_domains: (DomainCounts & { domains: number | null }) | null;
};

/** A template of the dashboard. */
export type TemplateDraft = import('./api.d.ts').Template & {
  /** Number of changes of name, alias and content. A change names the revision that it is based on. */
  revision: number;
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
