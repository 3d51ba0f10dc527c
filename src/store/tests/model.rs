//! Random commands in random groups, some rejected after a write, with the store reopened between
//! them. The results are compared with those of two ordered maps.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::disk::Disk;
use super::*;

/// Number of keys. Small, so that operations use the same keys.
const KEYS: u64 = 24;
const SHELVES: u16 = 3;

#[derive(Clone, Copy, Debug)]
enum Which {
    Left,
    Right(u16),
}

#[derive(Clone, Debug)]
enum Action {
    Put(Which, u64, Vec<u8>),
    Delete(Which, u64),
    DeleteRange { which: Which, from: u64, to: u64, rows_max: usize },
    Get(Which, u64),
    Scan { which: Which, from: u64, to: u64, order: Order, rows_max: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ActionResult {
    Nothing,
    Row(Option<Vec<u8>>),
    Rows(Vec<(u64, Vec<u8>)>),
    Removed(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Kept,
    Refused,
}

#[derive(Clone, Debug)]
struct Command {
    actions: Vec<Action>,
    ending: Ending,
}

#[derive(Clone, Debug)]
enum Episode {
    /// Commands that are queued together.
    Group(Vec<Command>),
    Reopen,
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![Just(Which::Left), (0..SHELVES).prop_map(Which::Right)]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    // Some are larger than one page, and some larger than several.
    prop_oneof![9 => 0_usize..40, 1 => 3_000_usize..20_000]
        .prop_flat_map(|len| any::<u8>().prop_map(move |byte| vec![byte; len]))
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Ascending), Just(Order::Descending)]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (which(), 0..KEYS, value()).prop_map(|(which, key, value)| Action::Put(which, key, value)),
        2 => (which(), 0..KEYS).prop_map(|(which, key)| Action::Delete(which, key)),
        1 => (which(), 0..KEYS, 0..KEYS, 0_usize..12)
            .prop_map(|(which, from, to, rows_max)| Action::DeleteRange { which, from, to, rows_max }),
        1 => (which(), 0..KEYS).prop_map(|(which, key)| Action::Get(which, key)),
        2 => (which(), 0..KEYS, 0..KEYS, order(), 1_usize..12)
            .prop_map(|(which, from, to, order, rows_max)| Action::Scan { which, from, to, order, rows_max }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let ending = prop_oneof![4 => Just(Ending::Kept), 1 => Just(Ending::Refused)];
    (vec(action(), 0..8), ending).prop_map(|(actions, ending)| Command { actions, ending })
}

fn episodes() -> impl Strategy<Value = Vec<Episode>> {
    vec(prop_oneof![5 => vec(command(), 1..6).prop_map(Episode::Group), 1 => Just(Episode::Reopen)], 1..10)
}

fn act(tx: &WriteTx<'_>, action: &Action) -> Result<ActionResult, StoreError> {
    match *action {
        Action::Put(Which::Left, key, ref value) => {
            tx.put(&LEFT, &(key,), &Blob(value.clone())).map(|()| ActionResult::Nothing)
        }
        Action::Put(Which::Right(shelf), key, ref value) => {
            tx.put_encoded(&RIGHT, &(shelf, key), &Encoded::blob(value.clone())).map(|()| ActionResult::Nothing)
        }
        Action::Delete(Which::Left, key) => tx.delete(&LEFT, &(key,)).map(|was| ActionResult::Removed(was.into())),
        Action::Delete(Which::Right(shelf), key) => {
            tx.delete(&RIGHT, &(shelf, key)).map(|was| ActionResult::Removed(was.into()))
        }
        Action::DeleteRange { which: Which::Left, from, to, rows_max } => {
            tx.delete_range(&LEFT, &(from,), &(to,), rows_max).map(ActionResult::Removed)
        }
        Action::DeleteRange { which: Which::Right(shelf), from, to, rows_max } => {
            tx.delete_range(&RIGHT, &(shelf, from), &(shelf, to), rows_max).map(ActionResult::Removed)
        }
        Action::Get(which, key) => get(tx, which, key).map(ActionResult::Row),
        Action::Scan { which, from, to, order, rows_max } => {
            scan(tx, which, from, to, order, rows_max).map(ActionResult::Rows)
        }
    }
}

fn get(tx: &impl Reads, which: Which, key: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let row = match which {
        Which::Left => tx.get(&LEFT, &(key,))?,
        Which::Right(shelf) => tx.get(&RIGHT, &(shelf, key))?,
    };
    Ok(row.map(|Blob(bytes)| bytes))
}

fn scan(
    tx: &impl Reads,
    which: Which,
    from: u64,
    to: u64,
    order: Order,
    rows_max: usize,
) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
    let mut rows = Vec::new();
    let mut keep = |key, row: Stored<'_, Blob>| {
        rows.push((key, row.decode()?.0));
        if rows.len() == rows_max { STOP } else { NEXT }
    };
    match which {
        Which::Left => tx.scan(&LEFT, &(from,), &(to,), order, |(key,), row| keep(key, row))?,
        Which::Right(shelf) => {
            tx.scan(&RIGHT, &(shelf, from), &(shelf, to), order, |(_, key), row| keep(key, row))?;
        }
    }
    Ok(rows)
}

/// Expected rows of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    left: BTreeMap<u64, Vec<u8>>,
    right: BTreeMap<(u16, u64), Vec<u8>>,
}

impl Model {
    fn keys(&self, which: Which, from: u64, to: u64) -> Vec<u64> {
        if from > to {
            return Vec::new();
        }
        match which {
            Which::Left => self.left.range(from..=to).map(|(key, _)| *key).collect(),
            Which::Right(shelf) => self.right.range((shelf, from)..=(shelf, to)).map(|((_, key), _)| *key).collect(),
        }
    }

    fn row(&self, which: Which, key: u64) -> Option<Vec<u8>> {
        match which {
            Which::Left => self.left.get(&key).cloned(),
            Which::Right(shelf) => self.right.get(&(shelf, key)).cloned(),
        }
    }

    fn remove(&mut self, which: Which, key: u64) -> usize {
        let removed = match which {
            Which::Left => self.left.remove(&key),
            Which::Right(shelf) => self.right.remove(&(shelf, key)),
        };
        removed.is_some().into()
    }

    fn act(&mut self, action: &Action) -> ActionResult {
        match *action {
            Action::Put(Which::Left, key, ref value) => {
                self.left.insert(key, value.clone());
                ActionResult::Nothing
            }
            Action::Put(Which::Right(shelf), key, ref value) => {
                self.right.insert((shelf, key), value.clone());
                ActionResult::Nothing
            }
            Action::Delete(which, key) => ActionResult::Removed(self.remove(which, key)),
            Action::DeleteRange { which, from, to, rows_max } => {
                let keys = self.keys(which, from, to);
                ActionResult::Removed(keys.into_iter().take(rows_max).map(|key| self.remove(which, key)).sum())
            }
            Action::Get(which, key) => ActionResult::Row(self.row(which, key)),
            Action::Scan { which, from, to, order, rows_max } => {
                let mut keys = self.keys(which, from, to);
                if order == Order::Descending {
                    keys.reverse();
                }
                let rows = keys.into_iter().take(rows_max);
                ActionResult::Rows(rows.map(|key| (key, self.row(which, key).unwrap_or_default())).collect())
            }
        }
    }

    /// Returns the results of a command, and applies it unless it is rejected.
    fn command(&mut self, command: &Command) -> Option<Vec<ActionResult>> {
        let mut after = self.clone();
        let results = command.actions.iter().map(|action| after.act(action)).collect();
        match command.ending {
            Ending::Kept => {
                *self = after;
                Some(results)
            }
            Ending::Refused => None,
        }
    }

    fn of(store: &Store) -> Self {
        store
            .read_now::<_, StoreError>(|tx| {
                let mut model = Self::default();
                model.left.extend(scan(tx, Which::Left, 0, KEYS, Order::Ascending, usize::MAX)?);
                for shelf in 0..SHELVES {
                    let rows = scan(tx, Which::Right(shelf), 0, KEYS, Order::Ascending, usize::MAX)?;
                    model.right.extend(rows.into_iter().map(|(key, row)| ((shelf, key), row)));
                }
                Ok(model)
            })
            .unwrap()
    }
}

async fn run_group(store: &Store, group: &[Command]) -> Vec<Option<Vec<ActionResult>>> {
    let blocked = BlockedWriter::block(store);
    let calls: Vec<_> = group
        .iter()
        .map(|command| {
            let command = command.clone();
            queued(store.write(move |tx| {
                let results = command.actions.iter().map(|action| act(tx, action)).collect::<Result<Vec<_>, _>>()?;
                match command.ending {
                    Ending::Kept => Ok(results),
                    Ending::Refused => Err(TestError::Refused),
                }
            }))
        })
        .collect();
    blocked.release().await;
    let mut results = Vec::new();
    for call in calls {
        results.push(match call.await {
            Ok(results) => Some(results),
            Err(TestError::Refused) => None,
            Err(TestError::Store(error)) => panic!("the store failed: {error}"),
        });
    }
    results
}

proptest! {
    #[test]
    fn the_store_behaves_as_two_ordered_maps_do(episodes in episodes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let disk = Disk::default();
            let mut store = disk.open_store().unwrap();
            let mut model = Model::default();
            for episode in &episodes {
                match episode {
                    Episode::Group(group) => {
                        let expected: Vec<_> = group.iter().map(|command| model.command(command)).collect();
                        prop_assert_eq!(run_group(&store, group).await, expected);
                    }
                    Episode::Reopen => {
                        let epoch = store.epoch();
                        store.close().await;
                        store = disk.open_store().unwrap();
                        prop_assert_eq!(store.epoch(), epoch + 1);
                    }
                }
                prop_assert_eq!(&Model::of(&store), &model);
            }
            Ok(())
        })?;
    }
}
