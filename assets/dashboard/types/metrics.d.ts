// Types of the pages of metrics, insights, and the audit log, written by hand: the OpenAPI document, from which api.d.ts
// is made, has the routes of the API only.

export type MetricsAnswer = {
  start_date: string;
  end_date: string;
  totals: Record<string, number>;
  data?: ({ period: string } & Record<string, number | string>)[];
};

/** The values of one limit of the guardrail, which applies from `min_count` of `min_sent` emails on. Rates are between 0 and 1. */
export type GuardrailLimit = { limit: number; window_days: number; min_count: number; min_sent: number; rate: number; count: number; sent: number };

export type GuardrailRate = { rate: number; count: number; sent: number; warning: GuardrailLimit; pause: GuardrailLimit };

export type DeliverabilityAnswer = {
  /** Without `enforced`, the limits are enforced. */
  guardrail: { status: 'ok' | 'warning' | 'paused'; bounce: GuardrailRate; complaint: GuardrailRate; region_paused: boolean; enforced?: boolean };
  score: {
    score: number | null;
    band: 'excellent' | 'good' | 'needs_attention' | 'at_risk' | null;
    content_score: number | null;
    outcome_score: number | null;
    complaint_rate: number;
    hard_bounce_rate: number;
    emails_sent: number;
    scored_recipients: number;
    window_days: number;
    insufficient_outcome_data: boolean;
  };
  /** UTC days, oldest first. A hard bounce or a complaint belongs to the day of the send, as in the guardrail. */
  days: { date: string; sent: number; delivered: number; sent_and_bounced: number; sent_and_complained: number; opened: number; clicked: number }[];
  /** Failing checks, the largest gain first. */
  factors: { check: string; severity: string; weight: number; failed_recipients: number; gain: number }[];
};

export type InsightsAnswer = {
  email_id: string;
  score: number;
  created_at: string;
  checks: { id: string; severity: 'critical' | 'major' | 'minor' | 'info'; weight: number; status: 'pass' | 'fail' | 'passed_by_design' | 'not_applicable' | 'unknown'; detail: Record<string, unknown> }[];
};

export type AuditRow = {
  id: string;
  created_at: string;
  actor: { type: 'user' | 'api_key' | 'command_line' | 'server'; id: string | null; name: string | null };
  action: string;
  target: { type: string; id: string; name: string | null } | null;
  detail: Record<string, unknown>;
};
