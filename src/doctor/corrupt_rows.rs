//! The rows that were removed from the queue because they cannot be read.

use super::report::SetupCheck;
use crate::delivery::count_set_aside;
use crate::store::Store;

const NAME: &str = "corrupt_rows";

/// Counts the rows that are set aside.
pub(super) async fn check(store: Option<&Store>) -> Vec<SetupCheck> {
    let Some(store) = store else { return vec![SetupCheck::not_checked(NAME, "there is no store yet")] };
    vec![match count_set_aside(store).await {
        Ok(rows) => judge(rows),
        Err(error) => SetupCheck::not_checked(NAME, error.to_string()),
    }]
}

fn judge(rows: usize) -> SetupCheck {
    let expected = "all rows of the queue can be read";
    let seen = match rows {
        0 => return SetupCheck::ok(NAME, "no row of the queue was set aside in the last 30 days", expected),
        1 => "1 row of the queue could not be read, and is set aside".to_owned(),
        rows => format!("{rows} rows of the queue could not be read, and are set aside"),
    };
    let fix = "Check the disk and the memory of this machine, because one of them changes data. The log names the email of \
               each row after `set aside`: look at it with `ringmail trace`, and send it again if it was not delivered. The \
               rows are deleted after 30 days.";
    SetupCheck::failed(NAME, seen, expected, fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn a_row_that_is_set_aside_is_a_failure_with_a_next_step() {
        for (rows, status, seen) in [
            (0, CheckStatus::Ok, "no row of the queue"),
            (1, CheckStatus::Failed, "1 row of the queue could not be read"),
            (2, CheckStatus::Failed, "2 rows of the queue could not be read"),
        ] {
            let check = judge(rows);

            assert!(check.status == status && check.seen.starts_with(seen), "{check:?}");
            assert_eq!(check.fix.is_some(), rows > 0, "{check:?}");
        }
    }

    #[tokio::test]
    async fn without_a_store_the_rows_are_not_checked() {
        let (_directory, context) = crate::context::Context::temporary();

        for (store, status) in [(None, CheckStatus::NotChecked), (Some(&context.store), CheckStatus::Ok)] {
            assert_eq!(check(store).await[0].status, status);
        }
    }
}
