//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

use crate::base::histogram::{BOUNDS_US, HistogramReading};

/// Microseconds of a second.
const SECOND_US: f64 = 1_000_000.0;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A number that only grows until the process ends.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    /// The number of durations up to each bound.
    Histogram,
}

impl MetricKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The text of all metrics.
#[derive(Debug, Default)]
pub struct MetricsText(String);

/// The samples of one metric.
pub struct Samples<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl MetricsText {
    /// Adds the head of a metric. Its samples must follow before the next metric.
    pub fn metric(&mut self, name: &'static str, kind: MetricKind, help: &str) -> Samples<'_> {
        // A write to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.as_str());
        Samples { text: &mut self.0, name }
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Samples<'_> {
    /// Adds a sample.
    pub fn add(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.line("", labels, value);
    }

    /// Adds the samples of a histogram, in seconds.
    pub fn add_histogram(&mut self, reading: &HistogramReading) {
        for (bound_us, count) in BOUNDS_US.iter().zip(reading.up_to) {
            self.line("_bucket", &[("le", &seconds(*bound_us))], count);
        }
        self.line("_bucket", &[("le", "+Inf")], reading.count);
        self.line("_sum", &[], seconds(reading.sum_us));
        self.line("_count", &[], reading.count);
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (index, (name, value)) in labels.iter().enumerate() {
            let start = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{start}{name}=\"{}\"", escape(value));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// Formats microseconds as seconds.
fn seconds(us: u64) -> String {
    (us as f64 / SECOND_US).to_string()
}

/// Escapes the value of a label.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::histogram::Histogram;

    #[test]
    fn a_metric_has_a_head_and_one_line_for_each_sample() {
        let mut text = MetricsText::default();
        text.metric("up", MetricKind::Gauge, "Whether it works.").add(&[], 1);
        let mut samples = text.metric("sent_total", MetricKind::Counter, "Sent messages.");
        samples.add(&[("site", "a\"b\\c\nd"), ("class", "bulk")], u64::MAX);
        samples.add(&[("site", "mx.example"), ("class", "bulk")], 0.5);

        assert_eq!(
            text.into_string(),
            "# HELP up Whether it works.\n# TYPE up gauge\nup 1\n\
             # HELP sent_total Sent messages.\n# TYPE sent_total counter\n\
             sent_total{site=\"a\\\"b\\\\c\\nd\",class=\"bulk\"} 18446744073709551615\n\
             sent_total{site=\"mx.example\",class=\"bulk\"} 0.5\n"
        );
    }

    #[test]
    fn a_histogram_has_cumulative_buckets_a_sum_and_a_count() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_millis(1));
        histogram.record(Duration::from_secs(20));
        let mut text = MetricsText::default();

        text.metric("took_seconds", MetricKind::Histogram, "Time.").add_histogram(&histogram.read());

        let text = text.into_string();
        for line in [
            "took_seconds_bucket{le=\"0.0005\"} 0",
            "took_seconds_bucket{le=\"0.001\"} 1",
            "took_seconds_bucket{le=\"10\"} 1",
            "took_seconds_bucket{le=\"+Inf\"} 2",
            "took_seconds_sum 20.001",
            "took_seconds_count 2",
        ] {
            assert!(text.lines().any(|its| its == line), "no {line} in {text}");
        }
    }
}
