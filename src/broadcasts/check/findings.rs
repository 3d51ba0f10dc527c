//! The first findings of a check, in bounded memory. Pure.

use super::model::BroadcastFinding;

/// Maximum number of findings of a check.
const FINDINGS_MAX: usize = 200;
/// Maximum number of findings in memory.
const COLLECTED_MAX: usize = 2 * FINDINGS_MAX;

/// The first findings in the order of a response. Further ones are dropped while they are collected.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FirstFindings {
    collected: Vec<BroadcastFinding>,
}

impl FirstFindings {
    /// Adds a finding.
    pub(super) fn push(&mut self, finding: BroadcastFinding) {
        self.collected.push(finding);
        if self.collected.len() >= COLLECTED_MAX {
            self.drop_last();
        }
    }

    /// Returns the findings of a response, in its order.
    pub(super) fn into_ordered(mut self) -> Vec<BroadcastFinding> {
        self.drop_last();
        self.collected
    }

    /// Drops the findings that a response has no room for. The sort is stable: equal places keep their order.
    fn drop_last(&mut self) {
        self.collected.sort_by_key(BroadcastFinding::order);
        self.collected.truncate(FINDINGS_MAX);
    }
}

impl Extend<BroadcastFinding> for FirstFindings {
    fn extend<I: IntoIterator<Item = BroadcastFinding>>(&mut self, findings: I) {
        for finding in findings {
            self.push(finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{FindingKind, FindingPart, FindingPlace};
    use super::*;

    fn alt_missing(at: usize) -> BroadcastFinding {
        let finding = BroadcastFinding::new(FindingKind::AltMissing, format!("Image {at}."));
        finding.at(FindingPart::Html, FindingPlace { at, length: 1, line: 1 })
    }

    #[test]
    fn of_many_findings_the_first_ones_are_kept_in_bounded_memory() {
        let mut findings = FirstFindings::default();
        for at in 0..3_000 {
            // Neither ascending nor descending; each place once.
            findings.push(alt_missing(at * 7 % 3_000));
            assert!(findings.collected.len() < COLLECTED_MAX);
        }
        findings.extend([BroadcastFinding::new(FindingKind::SubjectEmpty, "The subject is empty.")]);

        let found = findings.into_ordered();

        assert_eq!(found.len(), FINDINGS_MAX);
        assert_eq!(found[0].kind, FindingKind::SubjectEmpty);
        let places: Vec<usize> = found.iter().filter_map(|finding| Some(finding.place?.at)).collect();
        assert_eq!(places, (0..FINDINGS_MAX - 1).collect::<Vec<_>>());
    }

    #[test]
    fn findings_of_the_same_place_keep_their_order() {
        let mut findings = FirstFindings::default();
        let [first, second] = ["a", "b"].map(|message| BroadcastFinding { message: message.into(), ..alt_missing(1) });
        findings.extend([first.clone(), second.clone(), alt_missing(0)]);

        assert_eq!(findings.into_ordered(), [alt_missing(0), first, second]);
    }
}
