//! A simulated disk: it records every operation, fails on request, and computes the bytes that a power
//! failure would leave.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::*;

/// Unit that a real disk writes atomically, in bytes.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
pub(super) enum Op {
    Write { at: usize, bytes: Vec<u8> },
    Resize(usize),
    Sync,
}

#[derive(Debug, Default)]
struct State {
    image: Vec<u8>,
    log: Vec<Op>,
    syncs: usize,
    /// Number of further writes and resizes that succeed; `None` if all succeed.
    healthy_ops: Option<usize>,
    /// Number of times that the store tried to open its file.
    openings: usize,
    /// Number of writes and resizes that failed.
    refused: usize,
    /// Whether the next sync panics, to simulate a failed assertion of the engine.
    panics: bool,
    /// Number of further syncs before one that fails, after all writes have reached the disk; `None` if none fails.
    sync_fails_after: Option<usize>,
    /// Whether the next read fails.
    read_fails: bool,
}

/// Handle of a simulated disk. Clones share the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

impl Disk {
    pub(super) fn holding(image: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { image, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(super) fn ops(&self) -> usize {
        self.state().log.len()
    }

    pub(super) fn syncs(&self) -> usize {
        self.state().syncs
    }

    pub(super) fn image(&self) -> Vec<u8> {
        self.state().image.clone()
    }

    /// Removes and returns the recorded operations.
    pub(super) fn take_log(&self) -> Vec<Op> {
        std::mem::take(&mut self.state().log)
    }

    /// Lets `ops` more operations succeed. Later ones fail, as on a full disk.
    pub(crate) fn fill_after(&self, ops: usize) {
        self.state().healthy_ops = Some(ops);
    }

    pub(super) fn panic_at_sync(&self) {
        self.state().panics = true;
    }

    /// Lets one sync fail, after `syncs` more have succeeded.
    pub(super) fn fail_sync_after(&self, syncs: usize) {
        self.state().sync_fails_after = Some(syncs);
    }

    pub(super) fn fail_next_read(&self) {
        self.state().read_fails = true;
    }

    pub(super) fn openings(&self) -> usize {
        self.state().openings
    }

    pub(crate) fn refused(&self) -> usize {
        self.state().refused
    }

    /// Replaces the bytes of the disk.
    pub(super) fn replace(&self, image: Vec<u8>) {
        self.state().image = image;
    }

    pub(crate) fn mend(&self) {
        self.state().healthy_ops = None;
    }

    /// Opens the store on this disk, as the program does at its start.
    pub(crate) fn open_store(&self) -> Result<Store, OpenError> {
        let path = PathBuf::from("in memory");
        let options = OpenOptions { directory: path.clone(), kind: StoreKind::Dev, cache_bytes: 4 << 20 };
        if file::is_unfinished(&self.state().image[..]).unwrap() {
            self.state().image.clear();
        }
        let (disk, place, cache_bytes) = (self.clone(), path.clone(), options.cache_bytes);
        let open = move || {
            disk.state().openings += 1;
            file::guarded(&place, || {
                redb::Database::builder().set_cache_size(cache_bytes).create_with_backend(disk.clone())
            })
        };
        Store::start(open()?, path, &options, None, Some(Box::new(open)))
    }
}

/// The operations of a disk since one moment.
pub(crate) struct DiskRecording {
    disk: Disk,
    start: Vec<u8>,
}

impl Disk {
    /// Starts a recording.
    pub(crate) fn record(&self) -> DiskRecording {
        self.take_log();
        DiskRecording { disk: self.clone(), start: self.image() }
    }
}

impl DiskRecording {
    /// Ends the recording. Calls `check` with the store that a power failure at each operation leaves, without and with
    /// the operations since the last sync.
    pub(crate) fn each_kill(self, mut check: impl FnMut(Store)) {
        let log = self.disk.take_log();
        let mut cuts = Cuts::new(self.start, &log);
        for place in 0..=log.len() {
            cuts.go_to(place);
            for unsynced in [Unsynced::Dropped, Unsynced::Kept] {
                check(Disk::holding(cuts.image(unsynced)).open_store().unwrap());
            }
        }
    }
}

fn apply(image: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write { at, bytes } => {
            let end = at + bytes.len();
            if image.len() < end {
                image.resize(end, 0);
            }
            image[*at..end].copy_from_slice(bytes);
        }
        Op::Resize(len) => image.resize(*len, 0),
        Op::Sync => {}
    }
}

/// Operations after the last sync that reached the disk before the power failure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unsynced {
    Dropped,
    Kept,
    /// Random ones, some in part, selected by this seed.
    Some(u64),
}

/// Computes the bytes that a power failure leaves at each position of a recorded log.
pub(super) struct Cuts<'a> {
    log: &'a [Op],
    durable: Vec<u8>,
    /// Number of the first operations that are durable.
    synced: usize,
    place: usize,
}

impl<'a> Cuts<'a> {
    pub(super) fn new(start: Vec<u8>, log: &'a [Op]) -> Self {
        Self { log, durable: start, synced: 0, place: 0 }
    }

    /// Moves forward to the power failure before operation `place`.
    pub(super) fn go_to(&mut self, place: usize) {
        for at in self.place..place {
            if matches!(self.log[at], Op::Sync) {
                for op in &self.log[self.synced..at] {
                    apply(&mut self.durable, op);
                }
                self.synced = at;
            }
        }
        self.place = place;
    }

    pub(super) fn image(&self, unsynced: Unsynced) -> Vec<u8> {
        let mut image = self.durable.clone();
        let mut chance = match unsynced {
            Unsynced::Some(seed) => seed | 1,
            Unsynced::Dropped | Unsynced::Kept => 1,
        };
        let mut draw = |below: usize| {
            // Xorshift (Marsaglia 2003): the same result in every run.
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            (chance % below as u64) as usize
        };
        for op in &self.log[self.synced..self.place] {
            match (unsynced, op) {
                (Unsynced::Dropped, _) => {}
                (Unsynced::Kept, op) => apply(&mut image, op),
                (Unsynced::Some(_), Op::Write { at, bytes }) => match draw(4) {
                    0 => {}
                    1 => {
                        let sectors = draw(bytes.len() / SECTOR_BYTES + 1);
                        let bytes = bytes[..sectors * SECTOR_BYTES].to_vec();
                        apply(&mut image, &Op::Write { at: *at, bytes });
                    }
                    _ => apply(&mut image, op),
                },
                (Unsynced::Some(_), op) => {
                    if draw(2) == 0 {
                        apply(&mut image, op);
                    }
                }
            }
        }
        image
    }
}

impl redb::StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().image.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        if std::mem::take(&mut state.read_fails) {
            return Err(io::Error::other("a read of a test fails"));
        }
        let at = usize::try_from(offset).unwrap();
        let bytes = state.image.get(at..at + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().change(Op::Resize(usize::try_from(len).unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.panics {
            drop(state);
            panic!("the disk of a test panics");
        }
        if let Some(left) = state.sync_fails_after.take() {
            let Some(left) = left.checked_sub(1) else { return Err(io::Error::other("a sync of a test fails")) };
            state.sync_fails_after = Some(left);
        }
        state.syncs += 1;
        state.log.push(Op::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().change(Op::Write { at: usize::try_from(offset).unwrap(), bytes: data.to_vec() })
    }
}

impl State {
    fn change(&mut self, op: Op) -> io::Result<()> {
        if let Some(healthy) = &mut self.healthy_ops {
            let Some(left) = healthy.checked_sub(1) else {
                self.refused += 1;
                return Err(io::ErrorKind::StorageFull.into());
            };
            *healthy = left;
        }
        apply(&mut self.image, &op);
        self.log.push(op);
        Ok(())
    }
}
