//! Values: rows as named MessagePack maps behind one version byte, and raw bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;

/// What a table holds beside its keys.
pub trait Value: Sized {
    /// Returns the stored bytes.
    fn to_bytes(&self) -> Vec<u8>;
    /// Reads the stored bytes back.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the bytes are not of this type and version.
    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError>;
}

/// A row: a struct whose fields are stored by name, so that fields can be added and reordered.
///
/// A field added later carries `#[serde(default)]`; a change that old rows cannot be read under
/// raises `VERSION` and brings a migration.
pub trait Row: Serialize + DeserializeOwned {
    /// The version byte before the map. It can never change for rows already written.
    const VERSION: u8 = 1;
}

impl<T: Row> Value for T {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256);
        bytes.push(T::VERSION);
        rmp_serde::encode::write_named(&mut bytes, self).expect("a row writes into memory");
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        rmp_serde::from_slice(after_version::<T>(bytes)?).map_err(|error| StoreError::Corrupt(error.to_string()))
    }
}

/// Returns the map of a row that is of the version of `T`.
pub(super) fn after_version<T: Row>(bytes: &[u8]) -> Result<&[u8], StoreError> {
    match bytes.split_first() {
        Some((version, row)) if *version == T::VERSION => Ok(row),
        Some((version, _)) => Err(StoreError::Corrupt(format!("row version {version} is unknown"))),
        None => Err(StoreError::Corrupt("row is empty".into())),
    }
}

impl Value for () {
    fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_bytes(_: &[u8]) -> Result<Self, StoreError> {
        Ok(())
    }
}

/// Bytes stored as they are: chunks of bodies, attachments and captured messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl Value for Blob {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        Ok(Self(bytes.to_vec()))
    }
}

/// A value encoded ahead of its transaction, so that the writer thread only copies it.
#[derive(Clone, Debug)]
pub struct Encoded<V> {
    pub(super) bytes: Vec<u8>,
    value: std::marker::PhantomData<fn() -> V>,
}

impl<V: Value> Encoded<V> {
    /// Encodes `value`.
    pub fn new(value: &V) -> Self {
        Self { bytes: value.to_bytes(), value: std::marker::PhantomData }
    }
}

impl Encoded<Blob> {
    /// Takes the bytes of a blob without copying them.
    pub fn blob(bytes: Vec<u8>) -> Self {
        Self { bytes, value: std::marker::PhantomData }
    }
}

#[cfg(test)]
impl<V> Encoded<V> {
    /// Returns bytes that no table reads.
    pub(crate) fn unreadable() -> Self {
        Self { bytes: vec![0xff; 8], value: std::marker::PhantomData }
    }
}

impl<V> Encoded<V> {
    /// Returns how many bytes the value takes on disk.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the value takes no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct First {
        name: String,
    }
    impl Row for First {}

    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Second {
        #[serde(default)]
        count: u32,
        name: String,
    }
    impl Row for Second {}

    #[test]
    fn a_row_written_before_a_field_existed_still_reads() {
        let bytes = First { name: "a".into() }.to_bytes();

        assert_eq!(Second::from_bytes(&bytes).unwrap(), Second { count: 0, name: "a".into() });
    }

    #[test]
    fn a_row_of_another_version_and_an_empty_one_are_corrupt() {
        let mut bytes = First { name: "a".into() }.to_bytes();
        bytes[0] = 9;

        assert!(matches!(First::from_bytes(&bytes), Err(StoreError::Corrupt(_))));
        assert!(matches!(First::from_bytes(&[]), Err(StoreError::Corrupt(_))));
    }
}
