//! Values of tables: rows (a version byte and a MessagePack map with field names), and raw bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;

/// Value type of a table.
pub trait Value: Sized {
    /// Returns the stored bytes.
    fn to_bytes(&self) -> Vec<u8>;
    /// Decodes the stored bytes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the bytes are not of this type and version.
    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError>;
}

/// A row: a struct whose fields are stored with their names, so that fields can be added and reordered.
///
/// A field added later needs `#[serde(default)]`. A change that cannot decode old rows needs a higher
/// `VERSION` and a migration.
pub trait Row: Serialize + DeserializeOwned {
    /// Version byte before the map. It must never change for stored rows.
    const VERSION: u8 = 1;
}

impl<T: Row> Value for T {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(256);
        bytes.push(T::VERSION);
        rmp_serde::encode::write_named(&mut bytes, self).expect("encoding into memory does not fail");
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        rmp_serde::from_slice(after_version::<T>(bytes)?).map_err(|error| StoreError::Corrupt(error.to_string()))
    }
}

/// Returns the bytes after the version byte.
///
/// # Errors
/// [`StoreError::Corrupt`] if the version is not that of `T`.
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

/// Raw bytes: chunks of bodies, attachments and captured messages.
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

/// A value encoded before its transaction, so that the writer thread only copies the bytes.
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
    /// Wraps the bytes of a blob without copying them.
    pub fn blob(bytes: Vec<u8>) -> Self {
        Self { bytes, value: std::marker::PhantomData }
    }
}

#[cfg(test)]
impl<V> Encoded<V> {
    /// Returns bytes that no row type decodes.
    pub(crate) fn unreadable() -> Self {
        Self { bytes: vec![0xff; 8], value: std::marker::PhantomData }
    }
}

impl<V> Encoded<V> {
    /// Returns the size of the encoded value, in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the encoded value has no bytes.
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
    fn a_row_without_a_later_field_is_decoded_with_its_default() {
        let bytes = First { name: "a".into() }.to_bytes();

        assert_eq!(Second::from_bytes(&bytes).unwrap(), Second { count: 0, name: "a".into() });
    }

    #[test]
    fn a_row_of_another_version_and_an_empty_row_are_corrupt() {
        let mut bytes = First { name: "a".into() }.to_bytes();
        bytes[0] = 9;

        assert!(matches!(First::from_bytes(&bytes), Err(StoreError::Corrupt(_))));
        assert!(matches!(First::from_bytes(&[]), Err(StoreError::Corrupt(_))));
    }
}
