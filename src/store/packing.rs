//! Compression with zstd, and of small stored values if that makes them smaller.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};

/// Bytes below which compression is not worth its time.
const COMPRESSED_BYTES_MIN: usize = 512;
/// Compression level. Higher levels cost much more time and save little space.
const ZSTD_LEVEL: i32 = 1;
/// First byte of uncompressed bytes. Stored on disk: never change it.
const PLAIN: u8 = 0;
/// First byte of compressed bytes. Stored on disk: never change it.
const COMPRESSED: u8 = 1;

thread_local! {
    /// Reused, because creating a compressor takes longer than compressing a typical email.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// Reused, because creating one for each message took 1.6 % of the processor time of a delivery.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses bytes to a frame of zstd (RFC 8878 §3.1.1) that has their size.
pub fn compress(plain: &[u8]) -> Vec<u8> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(Compressor::new(ZSTD_LEVEL).expect("zstd supports the level")),
        };
        compressor.compress(plain).expect("zstd allocates the output")
    })
}

/// Decompresses a frame of zstd.
///
/// # Errors
/// If the frame is corrupt, or has more than `bytes_max` bytes.
pub fn decompress(frame: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new()?),
        };
        decompressor.decompress(frame, bytes_max)
    })
}

/// Compresses bytes, if that makes them smaller.
pub fn pack(plain: &[u8]) -> Vec<u8> {
    if plain.len() >= COMPRESSED_BYTES_MIN {
        let compressed = compress(plain);
        if compressed.len() < plain.len() {
            return [&[COMPRESSED], compressed.as_slice()].concat();
        }
    }
    [&[PLAIN], plain].concat()
}

/// Returns the bytes that [`pack`] compressed; `None` if they are corrupt or more than `bytes_max`.
pub fn unpack(packed: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    match packed.split_first()? {
        (&PLAIN, plain) => (plain.len() <= bytes_max).then(|| plain.to_vec()),
        (&COMPRESSED, compressed) => decompress(compressed, bytes_max).ok(),
        _ => None,
    }
}

/// A text field of a row that is compressed on disk, for `#[serde(with = "packed_text")]`. In JSON it is a string.
pub mod packed_text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_bytes::ByteBuf;

    use super::{pack, unpack};

    /// Bytes of the text before compression, at most.
    const TEXT_BYTES_MAX: usize = 256 << 10;

    /// Serializes a text of at most 256 KiB.
    ///
    /// # Errors
    /// The error of the serializer.
    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(text)
        } else {
            serializer.serialize_bytes(&pack(text.as_bytes()))
        }
    }

    /// Deserializes a text.
    ///
    /// # Errors
    /// If the bytes are corrupt, or the text is longer than 256 KiB.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        if deserializer.is_human_readable() {
            return String::deserialize(deserializer);
        }
        let packed = ByteBuf::deserialize(deserializer)?;
        let plain = unpack(&packed, TEXT_BYTES_MAX).ok_or_else(|| D::Error::custom("a packed text is corrupt"))?;
        String::from_utf8(plain).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    const BYTES_MAX: usize = 64 << 10;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Texts {
        #[serde(with = "packed_text")]
        text: String,
    }

    #[test]
    fn small_values_stay_uncompressed_and_large_values_are_compressed() {
        assert_eq!(pack(b"{}"), [b"\0".as_slice(), b"{}"].concat());
        let large = vec![b'a'; BYTES_MAX];
        let packed = pack(&large);

        assert!(packed.len() < 1_000, "{}", packed.len());
        assert_eq!(unpack(&packed, BYTES_MAX).unwrap(), large);
        assert_eq!(unpack(&[], BYTES_MAX), None);
        assert_eq!(unpack(&[9, 1], BYTES_MAX), None);
        assert_eq!(unpack(&[COMPRESSED, 1, 2, 3], BYTES_MAX), None);
        assert_eq!(unpack(b"\0{}", 1), None);
        // Data that would exceed the maximum is not decompressed.
        let bomb = compress(&vec![0; 1 << 20]);
        assert_eq!(unpack(&[&[COMPRESSED], bomb.as_slice()].concat(), BYTES_MAX), None);
    }

    #[test]
    fn a_packed_text_is_small_on_disk_and_a_string_in_json() {
        let texts = Texts { text: "S: 250 2.1.5 Ok\n".repeat(500) };

        let stored = rmp_serde::to_vec_named(&texts).unwrap();
        let json = serde_json::to_string(&texts).unwrap();

        assert!(stored.len() < 200, "{}", stored.len());
        assert_eq!(rmp_serde::from_slice::<Texts>(&stored).unwrap(), texts);
        assert!(json.contains("S: 250 2.1.5 Ok"));
        assert_eq!(serde_json::from_str::<Texts>(&json).unwrap(), texts);
        let corrupt = rmp_serde::to_vec_named(&std::collections::BTreeMap::from([("text", "plain")])).unwrap();
        assert!(rmp_serde::from_slice::<Texts>(&corrupt).is_err());
    }
}
